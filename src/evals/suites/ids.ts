const maxLength = 50;

/**
 * The ids of a suite's cases: each case's own, else a slug of its input, with -2, -3, ... where a slug is taken.
 * A generated id never equals a given one, wherever that stands.
 */
export function caseIds(cases: readonly { id?: string | undefined; input: string }[]): string[] {
  const taken = new Set(cases.flatMap(({ id }) => id ?? []));
  // Counting on from the last number keeps a thousand equal inputs linear.
  const last = new Map<string, number>();
  return cases.map(({ id, input }) => {
    if (id !== undefined) return id;
    const slug = slugOf(input);
    let n = last.get(slug) ?? 1;
    while (taken.has(numbered(slug, n))) n++;
    last.set(slug, n);
    taken.add(numbered(slug, n));
    return numbered(slug, n);
  });
}

const numbered = (slug: string, n: number) => (n === 1 ? slug : `${slug}-${n}`);

/** Lower-case ASCII words joined by hyphens, cut between words at about 50 characters; "case" when nothing is left. */
function slugOf(input: string): string {
  // Long inputs are cut before the work: only the beginning can end up in the slug.
  const words =
    input
      .slice(0, 1000)
      .normalize("NFKD")
      .replace(/\p{M}/gu, "")
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  let slug = "";
  for (const word of words) {
    const longer = slug === "" ? word.slice(0, maxLength) : `${slug}-${word}`;
    if (longer.length > maxLength) break;
    slug = longer;
  }
  return slug === "" ? "case" : slug;
}
