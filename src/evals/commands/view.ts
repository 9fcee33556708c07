import { defineCommand, number, toggle } from "./command.ts";
import { outFlag } from "./flags.ts";

export const viewCommand = defineCommand({
  command: "view",
  describe: "Show the recorded runs in a browser",
  positionals: {},
  flags: {
    port: number("Port on 127.0.0.1; 0: any free port", { min: 0, max: 65_535, integer: true, default: 4477 }),
    open: toggle("Open the page in the default browser"),
    out: outFlag,
  },
  examples: [
    ["view", "Print the address, and serve it until Ctrl-C"],
    ["view --open", "Also open the page"],
  ],
  run: async (args, io) => (await import("../view/view.ts")).view(args, io),
});
