import fc from "fast-check";
import { expect, test } from "vitest";
import { registrationRules } from "../../../src/evals/inspection/lint/rules/registration.ts";
import { aRegistrationSubject } from "./cases/cases.ts";
import { registrationCases } from "./cases/registration.ts";
import { describeViolations } from "./violations.ts";

test("says what is wrong, where, and what to do", () => {
  expect(describeViolations(registrationRules, registrationCases)).toMatchInlineSnapshot(`
    {
      "registration-absolute-script": [
        "$.args[0]: The script "server.js" is a relative path. -> Write an absolute path.",
      ],
      "registration-args": [
        "$.args: args is "/srv/weather/server.js", not a list. -> Write each argument as a separate string: ["/path/server.js", "--port", "80"].",
        "$.args[1]: The argument is 80, not a string. -> Write each argument as a separate string: ["/path/server.js", "--port", "80"].",
      ],
      "registration-command": [
        "$.command: The command is an array. -> Name the program that starts the server.",
        "$.command: The command is empty. -> Name the program that starts the server.",
        "$.command: The command "npx -y weather" contains arguments. -> Put them under args.",
      ],
      "registration-command-relative": [
        "$.command: The command "./weather" is a relative path. -> Write an absolute path.",
        "$.command: The command "~/bin/weather" is a relative path. -> Write an absolute path.",
      ],
      "registration-entry": [
        "$: The entry is "node server.js". -> Give a command with args for a local server, or a url for a remote one.",
        "$: The entry has neither a command nor a url. -> Give a command with args for a local server, or a url for a remote one.",
        "$.url: The entry has both a command and a url. -> Give a command with args for a local server, or a url for a remote one.",
      ],
      "registration-env": [
        "$.env.PORT: "PORT" is 80, not a string. -> Write its values in quotes.",
        "$.headers.Retry: "Retry" is 1, not a string. -> Write its values in quotes.",
      ],
      "registration-name": [
        "$: Hosts replace or reject characters of the name "my weather". -> Use letters, digits, _ and -.",
      ],
      "registration-script-missing": [
        "$.args[0]: The script "/srv/weather/dist/server.js" does not exist. -> Build the server, or correct the path.",
        "$.command: The program "/usr/local/bin/node" does not exist. -> Build the server, or correct the path.",
      ],
      "registration-secret": [
        "$.env.KEY: The entry contains a GitHub token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.env.KEY: The entry contains an Anthropic token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.env.KEY: The entry contains an OpenAI token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.env.KEY: The entry contains an AWS token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.env.KEY: The entry contains a Google token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.env.KEY: The entry contains a Slack token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.env.KEY: The entry contains a GitLab token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.env.KEY: The entry contains an npm token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.env.KEY: The entry contains a Hugging Face token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.env.KEY: The entry contains a Stripe token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.headers.Authorization: The entry contains a JSON Web Token. -> Put it in an environment variable, and write \${NAME} here.",
        "$.url: The url contains a password. -> Put it in an environment variable, and write \${NAME} here.",
      ],
      "registration-unset-variable": [
        "$.env.KEY: The variable WEATHER_KEY is not set. -> Set it, or give a default: \${WEATHER_KEY:-value}.",
      ],
      "registration-url": [
        "$.url: The url is "example.com/mcp", which is not an http or https URL. -> Write it as https://host/path.",
        "$.url: The url is "ws://example.com/mcp", which is not an http or https URL. -> Write it as https://host/path.",
      ],
      "registration-url-plain": [
        "$.url: Calls to "example.com" are not encrypted. -> Use https.",
      ],
    }
  `);
});

test("repeats no secret", () => {
  const { "registration-secret": cases } = registrationCases;
  const subjects = Object.values(cases?.violations ?? {}).flat();
  const messages = registrationRules.flatMap(({ check }) => subjects.flatMap((subject) => [...check(subject)]));
  expect(JSON.stringify(messages)).not.toMatch(/Ab1Ab1|A1B2A1B2|letmein|c2lnbmF0dXJl/);
});

const keys = ["command", "args", "env", "url", "headers"];
const entry = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...keys), fc.oneof(fc.jsonValue(), fc.string())));

test("throws for no entry, whatever it holds", () => {
  fc.assert(
    fc.property(entry, fc.string(), (one, name) => {
      const subject = { ...aRegistrationSubject(one, name), isSet: () => false };
      for (const { check } of registrationRules) expect(() => [...check(subject)]).not.toThrow();
    }),
    { numRuns: 200 },
  );
});
