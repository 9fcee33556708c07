/** A relative path with `/`, without `.` and `..`; undefined if it is absolute or leads out of its start. */
export function toInnerPath(written: string): string | undefined {
  if (/^(?:[/\\]|[A-Za-z]:)/.test(written) || written.includes("\0")) return undefined;
  const parts: string[] = [];
  for (const part of written.split(/[/\\]/)) {
    if (part === ".." && parts.pop() === undefined) return undefined;
    if (part !== ".." && part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/") || ".";
}

const maxNameBytes = 255;

/** Why no file can have this path beside files with the others, as the end of a sentence; undefined when one can. */
export function whyNoFile(path: string, others: Iterable<string>): string | undefined {
  if (path === ".") return "is the folder itself";
  if (path.split("/").some((name) => Buffer.byteLength(name) > maxNameBytes))
    return `has a name of more than ${maxNameBytes} bytes`;
  for (const other of others) {
    if (other.startsWith(`${path}/`)) return `is a folder, because "${other}" is in it`;
    if (path.startsWith(`${other}/`)) return `is in "${other}", which is a file`;
  }
  return undefined;
}
