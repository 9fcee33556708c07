import type { ToolSubject, ToolsetSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { aChangedTool, aLintedTool, aToolSubject, aToolsetSubject, type CasesOf } from "./cases.ts";

const annotated = (annotations: unknown, name = "get_weather") => aChangedTool({ name, annotations });

const operating = (values: readonly string[], annotations: object = { readOnlyHint: true }) =>
  aChangedTool({
    annotations,
    inputSchema: { type: "object", properties: { operation: { type: "string", enum: [...values] } } },
  });

export const annotationCases: CasesOf<ToolSubject> = {
  "annotation-against-verb": {
    clean: [
      annotated({ readOnlyHint: true }),
      annotated({ readOnlyHint: true }, "list_deleted_files"),
      annotated({ readOnlyHint: true }, "get_update_status"),
      annotated({ destructiveHint: true }, "delete_file"),
      annotated({ destructiveHint: false }, "create_file"),
      operating(["get", "list"]),
      operating(["get", "set"], {}),
      operating(["runQuery", "uploadPlan"]),
    ],
    violations: {
      "a read-only tool has no operation that changes something": [
        operating(["get", "set"]),
        operating(["list", "delete_all"]),
      ],
      "a tool named for a change is not read-only": [
        annotated({ readOnlyHint: true }, "create_issue"),
        annotated({ readOnlyHint: true }, "deleteFile"),
        // The server of the subjects is called weather.
        aToolSubject(aLintedTool({ name: "weather_send_alert", annotations: { readOnlyHint: true } })),
      ],
      "a tool named for a deletion is destructive": [annotated({ destructiveHint: false }, "delete_file")],
    },
  },
};

const readOnly = aLintedTool({ annotations: { readOnlyHint: true } });

export const sharedAnnotationCases: CasesOf<ToolsetSubject> = {
  "annotations-missing": {
    clean: [aToolsetSubject(), aToolsetSubject(readOnly), aToolsetSubject(aLintedTool({ annotations: "none" }))],
    violations: {
      "every tool has annotations": [
        aToolsetSubject(readOnly, aLintedTool({ name: "send_mail" })),
        aToolsetSubject(aLintedTool({ annotations: { title: "Weather" } })),
      ],
    },
  },
};
