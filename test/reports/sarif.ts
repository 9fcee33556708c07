import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import multitool from "@microsoft/sarif-multitool";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** The executable of the official SARIF validator, which has the schema beside it. */
export const validator: string = multitool;
const schema = JSON.parse(readFileSync(join(dirname(validator), "sarif-2.1.0.json"), "utf8"));

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
const validate = ajv.compile(schema);

/** The violations of the SARIF 2.1.0 schema in a log. */
export function listSarifFaults(log: unknown): string[] {
  return validate(log) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
