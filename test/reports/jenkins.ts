import type { Element } from "./xml.ts";

/**
 * What Jenkins' xUnit plugin takes (junit-10.xsd of jenkinsci/xunit-plugin): the attributes of each element, those that it
 * must have with an exclamation mark, and the elements in it. Elements that no report writes are left out.
 */
const allowed: Readonly<Record<string, { attributes: string; children: readonly string[] }>> = {
  testsuites: { attributes: "name time tests failures errors", children: ["testsuite"] },
  testsuite: {
    attributes: "name! tests! failures! errors! group time skipped timestamp hostname id package file log url",
    children: ["testsuite", "properties", "testcase", "system-out", "system-err"],
  },
  properties: { attributes: "", children: ["property"] },
  property: { attributes: "name! value!", children: [] },
  testcase: {
    attributes: "name! time classname group",
    children: ["skipped", "error", "failure", "system-out", "system-err"],
  },
  failure: { attributes: "type message", children: [] },
  error: { attributes: "type message", children: [] },
  "system-out": { attributes: "", children: [] },
};

const time = /^((\d{0,3},)*\d{3}|\d{0,3})*(\.\d*)?$/;

/** What Jenkins would refuse of a JUnit document, in sentences. */
export function listJenkinsFaults(document: Element): string[] {
  return document.children.flatMap((root) =>
    root.tag === "testsuites" ? listFaults(root) : [`<${root.tag}> cannot be the root`],
  );
}

function listFaults({ tag, attributes, children }: Element): string[] {
  const rule = allowed[tag];
  if (!rule) return [`<${tag}> is not known`];
  const names = rule.attributes.split(" ");
  const known = new Set(names.map((name) => name.replace("!", "")));
  const required = names.flatMap((name) => (name.endsWith("!") ? [name.slice(0, -1)] : []));
  return [
    ...Object.keys(attributes).flatMap((name) => (known.has(name) ? [] : [`<${tag}> has no attribute ${name}`])),
    ...required.flatMap((name) => (name in attributes ? [] : [`<${tag}> needs the attribute ${name}`])),
    ...(tag !== "testcase" && !time.test(attributes.time ?? "") ? [`<${tag}> has the time ${attributes.time}`] : []),
    ...children.flatMap((child) =>
      rule.children.includes(child.tag) ? listFaults(child) : [`<${child.tag}> cannot be in <${tag}>`],
    ),
  ];
}
