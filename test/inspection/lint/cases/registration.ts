import type { RegistrationSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { aRegistrationSubject, type CasesOf } from "./cases.ts";

const server = "/srv/weather/server.js";
const files = [server, "/usr/bin/node", "my server", "dist/server.js"];
const of = (entry: unknown, name?: string): RegistrationSubject => aRegistrationSubject(entry, name, files);
const starting = (...args: unknown[]) => of({ command: "node", args });
/** As a host fills it in. */
const filled = (name: string) => `\${${name}}`;
/** Only HOME is set. */
const inShell = (entry: unknown): RegistrationSubject => ({ ...of(entry), isSet: (variable) => variable === "HOME" });
/** An entry of a file like .mcp.json, whose servers start in the folder of the project. */
const inProject = (entry: unknown): RegistrationSubject => ({ ...of(entry), isFolderKnown: true });
const whole = starting(server, "--port", "80");
const headers = { Authorization: `Bearer ${filled("TOKEN")}` };
const remote = of({ type: "http", url: "https://example.com/mcp", headers });

/** Made up, and put together here so that no scanner takes them for real ones. */
const secret = (start: string, length: number) => `${start}${"Ab1".repeat(20).slice(0, length)}`;
const jwt = ["eyJhbGciOiJIUzI1", "eyJzdWIiOiIxMjM0", "c2lnbmF0dXJl"].join(".");
const holding = (...keys: string[]) => keys.map((key) => of({ command: "weather", env: { KEY: key } }));

export const registrationCases: CasesOf<RegistrationSubject> = {
  "registration-entry": {
    clean: [whole, remote, of({ command: "weather", env: { KEY: "1" } })],
    violations: {
      "an object": [of("node server.js"), of(null), of([])],
      "a command or a url": [of({ args: [server] })],
      "not both": [of({ command: "node", url: "https://example.com/mcp" })],
      "the command is a string that is not blank": [
        of({ command: ["node", server] }),
        of({ command: "" }),
        of({ command: " " }),
      ],
      "args is a list of strings": [of({ command: "node", args: server }), starting(server, 80)],
      "env and headers are maps of strings": [
        of({ command: "node", env: { PORT: 80 } }),
        of({ command: "node", env: ["PORT=80"] }),
        of({ url: "https://example.com/mcp", headers: { Retry: 1 } }),
        of({ url: "https://example.com/mcp", headers: "Retry: 1" }),
      ],
    },
  },
  "registration-name": {
    clean: [whole, of({}, "weather-2_b")],
    violations: { "only letters, digits, _ and -": [of({}, "my weather"), of({}, "weather.io"), of({}, "")] },
  },
  "registration-command": {
    clean: [whole, remote, of({ command: "my server" }), of({ command: "/opt/My App/server" })],
    violations: {
      "the program alone, its arguments under args": [
        of({ command: "npx -y weather" }),
        of({ command: "node a.js", args: [] }),
      ],
    },
  },
  "registration-relative-path": {
    clean: [
      whole,
      of({ command: "/usr/bin/node" }),
      of({ command: `${filled("HOME")}/bin/weather` }),
      starting(`${filled("workspaceFolder")}/server.js`),
      starting("--experimental-strip-types", server, "other.js"),
      of({ command: "npx", args: ["-y", "weather", "config.js"] }),
      of({ command: "python", args: ["-m", "weather", "data.py"] }),
      inProject({ command: "./weather" }),
      inProject({ command: "node", args: ["dist/server.js"] }),
    ],
    violations: {
      "a command with a path has an absolute one": [of({ command: "./weather" }), of({ command: "bin\\weather.exe" })],
      "the script has an absolute path": [
        starting("server.js"),
        starting("--no-warnings", "./dist/server.mjs"),
        of({ command: "/usr/bin/python3.12", args: ["~/server.py"] }),
      ],
      "no ~, which only a shell expands": [of({ command: "~/bin/weather" }), inProject({ command: "~/bin/weather" })],
    },
  },
  "registration-script-missing": {
    clean: [
      whole,
      starting("server.js"),
      starting(`${filled("HOME")}/server.js`),
      of({ command: "/usr/bin/node" }),
      inProject({ command: "node", args: ["dist/server.js"] }),
    ],
    violations: {
      "the script exists": [starting("/srv/weather/dist/server.js")],
      "a command with an absolute path exists": [of({ command: "/usr/local/bin/node", args: [server] })],
      "what is relative to a project exists there": [
        inProject({ command: "node", args: ["server.js"] }),
        inProject({ command: "bin/weather" }),
      ],
    },
  },
  "registration-unset-variable": {
    clean: [
      inShell({ command: `${filled("HOME")}/weather`, args: [filled("PORT:-80")] }),
      of({ command: `${filled("NOT_KNOWN_HERE")}/weather` }),
    ],
    violations: {
      "a variable without a default is set": [
        inShell({ command: "weather", env: { KEY: filled("WEATHER_KEY") } }),
        inShell({ url: `https://${filled("env:WEATHER_HOST")}/mcp` }),
      ],
    },
  },
  "registration-secret": {
    clean: [whole, remote, ...holding(filled("GITHUB_TOKEN"), "sk-learn", `https://user:${filled("PASSWORD")}@host`)],
    violations: {
      "no GitHub token": holding(secret("ghp_", 36), secret("github_pat_", 50)),
      "no Anthropic token": holding(secret("sk-ant-", 40)),
      "no OpenAI token": holding(secret("sk-proj-", 40), secret("sk-", 48)),
      "no AWS token": holding(`AKIA${"A1B2".repeat(4)}`),
      "no Google token": holding(secret("AIza", 35)),
      "no Slack token": holding(secret("xoxb-", 20)),
      "no GitLab token": holding(secret("glpat-", 20)),
      "no npm token": holding(secret("npm_", 36)),
      "no Hugging Face token": holding(secret("hf_", 34)),
      "no Stripe token": holding(secret("sk_live_", 24)),
      "no JSON Web Token": [of({ headers: { Authorization: `Bearer ${jwt}` } })],
      "no password in a url": [of({ url: "https://user:letmein@example.com/mcp" })],
    },
  },
  "registration-url": {
    clean: [whole, remote, of({ url: `${filled("WEATHER_URL:-https://example.com")}/mcp` })],
    violations: {
      "a URL": [of({ url: "example.com/mcp" }), of({ url: 80 })],
      "http or https": [of({ url: "ws://example.com/mcp" })],
    },
  },
  "registration-url-plain": {
    clean: [remote, ...["localhost:3000", "127.0.0.1", "[::1]:80"].map((host) => of({ url: `http://${host}/mcp` }))],
    violations: { "https, except for localhost": [of({ url: "http://example.com/mcp" })] },
  },
};
