import { writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Writes `run.sarif` (SARIF 2.1.0) beside the record, with a result for each case that did not pass. `evals lint --format sarif` is better
 * suited for code scanning: a pass rate is no property of a line.
 *
 * @type {import("tool-evals").Reporter}
 */
export default async ({ summary, manifest, dir }) => {
  const results = summary.suites.flatMap(({ name, model, cases }) =>
    cases
      .filter(({ ok }) => !ok)
      .map(({ id, file, line, passed, trials, reasons }) => ({
        ruleId: "case",
        level: "error",
        message: {
          text: [`${id} (${model}): ${passed} of ${trials} trials passed.`, ...reasons.map(({ text }) => text)].join(
            "\n",
          ),
        },
        locations: [
          {
            ...(file !== "" && {
              physicalLocation: {
                artifactLocation: { uri: file.split("/").map(encodeURIComponent).join("/") },
                region: { startLine: line },
              },
            }),
            logicalLocations: [{ fullyQualifiedName: `${name} ${id}`, kind: "member" }],
          },
        ],
        partialFingerprints: { "toolEvals/v1": JSON.stringify([name, model, id]) },
      })),
  );
  const rules = [{ id: "case", shortDescription: { text: "A case passes as often as its pass rate requires." } }];
  const driver = { name: "tool-evals", version: manifest.harness, informationUri: "pkg:npm/tool-evals", rules };
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [{ tool: { driver }, columnKind: "utf16CodeUnits", results }],
  };
  await writeFile(join(dir, "run.sarif"), `${JSON.stringify(log, null, 2)}\n`);
};
