import fc from "fast-check";
import { expect, test } from "vitest";
import { registrationRules } from "../../src/evals/lint/rules/registration.ts";
import { aRegistrationSubject } from "./cases/cases.ts";
import { registrationCases } from "./cases/registration.ts";
import { said } from "./said.ts";

test("says what is wrong, where, and what to do", () => {
  expect(said(registrationRules, registrationCases)).toMatchInlineSnapshot(`
    {
      "registration-absolute-script": [
        "$.args[0]: The script "server.js" is given by a relative path. -> Give it from the root of the file system.",
      ],
      "registration-args": [
        "$.args: args is "/srv/weather/server.js", not a list. -> Write each argument as a text of its own: ["/path/server.js", "--port", "80"].",
        "$.args[1]: The argument is 80. -> Write each argument as a text of its own: ["/path/server.js", "--port", "80"].",
      ],
      "registration-command": [
        "$.command: The command is an array. -> Name the program that starts the server.",
        "$.command: The command is empty. -> Name the program that starts the server.",
        "$.command: The command "npx -y weather" holds arguments. -> Put them under args.",
      ],
      "registration-command-relative": [
        "$.command: The command "./weather" is a relative path. -> Write it from the root.",
        "$.command: The command "~/bin/weather" is a relative path. -> Write it from the root.",
      ],
      "registration-entry": [
        "$: The entry is "node server.js". -> Give a command with args for a local server, or a url for a remote one.",
        "$: The entry has neither a command nor a url. -> Give a command with args for a local server, or a url for a remote one.",
        "$.url: The entry has a command and a url: a host takes either. -> Give a command with args for a local server, or a url for a remote one.",
      ],
      "registration-env": [
        "$.env.PORT: "PORT" is 80. -> Write its values in quotes.",
        "$.headers.Retry: "Retry" is 1. -> Write its values in quotes.",
      ],
      "registration-name": [
        "$: Hosts replace or refuse characters of the name "my weather". -> Use letters, digits, _ and -.",
      ],
      "registration-script-missing": [
        "$.args[0]: There is no script "/srv/weather/dist/server.js". -> Build the server, or mend the path.",
        "$.command: There is no program "/usr/local/bin/node". -> Build the server, or mend the path.",
      ],
      "registration-secret": [
        "$.env.KEY: A token of GitHub is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.env.KEY: A token of Anthropic is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.env.KEY: A token of OpenAI is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.env.KEY: A token of AWS is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.env.KEY: A token of Google is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.env.KEY: A token of Slack is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.env.KEY: A token of GitLab is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.env.KEY: A token of npm is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.env.KEY: A token of Hugging Face is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.env.KEY: A token of Stripe is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.headers.Authorization: A token of a JSON web token's issuer is written into the entry. -> Put it into an environment variable, and write \${NAME} here.",
        "$.url: A password is written into the url. -> Put it into an environment variable, and write \${NAME} here.",
      ],
      "registration-unset-variable": [
        "$.env.KEY: The variable WEATHER_KEY is not set. -> Set it, or give a default: \${WEATHER_KEY:-value}.",
      ],
      "registration-url": [
        "$.url: The url is "example.com/mcp", which is no http or https URL. -> Write it as https://host/path.",
        "$.url: The url is "ws://example.com/mcp", which is no http or https URL. -> Write it as https://host/path.",
      ],
      "registration-url-plain": [
        "$.url: Calls to "example.com" go over the network in the clear. -> Use https.",
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
