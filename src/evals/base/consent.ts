import type { Io } from "./types/io.ts";

/** Whether the program runs in CI, where nobody can be asked and what runs was decided by the workflow. */
export const isCi = ({ CI }: Io["env"]): boolean => CI !== undefined && CI !== "" && CI !== "false";

/** Asks a yes-or-no question on the terminal; undefined without one. */
export async function askConsent(question: string, { prompts }: Pick<Io, "prompts">): Promise<boolean | undefined> {
  const choices = [
    { value: "yes", label: "Yes" },
    { value: "no", label: "No" },
  ];
  return prompts && (await prompts.select(question, choices)) === "yes";
}
