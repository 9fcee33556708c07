import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { capture, list, prepare } from "./skillLists.ts";
import { needsHost } from "./support.ts";

const folders = ["ws", "ws/packages/app", "home"];

describe("evals tools --skills --host claude-code", () => {
  const program = needsHost("claude-code");

  it.each(folders)("lists what Claude Code shows to its model in %s", async (cwd) => {
    const root = prepare();
    const prompt = await capture(root, cwd, (url) => ({
      program: program(),
      args: ["-p", "--output-format", "json", "--model", "claude-sonnet-5-5"],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: "offline-key",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: "1",
        DISABLE_AUTOUPDATER: "1",
        // All descriptions in full: the limit of the whole list is measured elsewhere.
        SLASH_COMMAND_TOOL_CHAR_BUDGET: "1000000",
      },
    }));
    const [, shown = ""] = /skills are available for use with the Skill tool:\n\n([\s\S]*?)\n\n/.exec(prompt) ?? [];
    const lines = shown.split("\n").map((line) => line.replace(/^- /, ""));
    // The only skill that it brings along and cannot be turned off.
    expect(lines.filter((line) => !line.startsWith("plugin-authoring: ")).sort()).toEqual(
      await list("claude-code", root, cwd),
    );
    expect(lines.length).toBeGreaterThan(cwd === "home" ? 5 : 30);
  });
});

describe("evals tools --skills --host codex", () => {
  const program = needsHost("codex");

  it.each(folders)("lists what Codex shows to its model in %s", async (cwd) => {
    const root = prepare();
    const prompt = await capture(root, cwd, (url) => {
      const config = [
        ...['model = "gpt-5.5"', 'model_provider = "offline"', "check_for_update_on_startup = false"],
        ...["[analytics]", "enabled = false", "[features]", "plugins = false", "[model_providers.offline]"],
        ...['name = "OpenAI"', `base_url = "${url}/v1"`, 'env_key = "OPENAI_API_KEY"', 'wire_api = "responses"'],
        ...[`[projects."${join(root, "ws")}"]`, 'trust_level = "trusted"'],
      ];
      writeFileSync(join(root, "home/.codex/config.toml"), config.join("\n"));
      return {
        program: program(),
        args: ["exec", "--json", "--skip-git-repo-check", "-"],
        env: { OPENAI_API_KEY: "offline-key" },
      };
    });
    const [, shown = ""] = /### Available skills\n([\s\S]*?)\n###/.exec(prompt) ?? [];
    const [, system] = /`(r\d+)` = `[^`]*\/\.system`/.exec(prompt) ?? [];
    const lines = shown.split("\n").flatMap((line) => {
      const [, label, location] = /^- (.*) \(file: (r\d+)\/[^)]*\)$/.exec(line) ?? [];
      return label === undefined || location === system ? [] : [label];
    });
    expect(lines.sort()).toEqual(await list("codex", root, cwd));
    expect(lines.length).toBeGreaterThan(cwd === "home" ? 2 : 20);
  });
});
