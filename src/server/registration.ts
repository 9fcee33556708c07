/**
 * How a host registers this server: the JSON for its configuration file, and the line for its command line, where
 * `<host>` stands for the host's program.
 * @param command the executable, absolute
 * @param args the script, absolute, and the flags it is started with
 */
export function registration(name: string, command: string, args: readonly string[]): string {
  const config = { mcpServers: { [name]: { command, args } } };
  const line = ["<host> mcp add", quoted(name), "--", quoted(command), ...args.map(quoted)].join(" ");
  return `${JSON.stringify(config, null, 2)}\n${line}`;
}

/** One word of a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
