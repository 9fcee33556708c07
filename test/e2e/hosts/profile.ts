import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import hostProfiles from "../../../scripts/hostProfiles.json" with { type: "json" };
import { type ListingHost, listingHosts, listSkills } from "../../../src/evals/base/search/skillListing.ts";
import { needsHost } from "./support.ts";

const root = join(import.meta.dirname, "../../..");
type Profile = (typeof hostProfiles)[keyof typeof hostProfiles];

/** A profile without its date, and with sizes to the next 10%, which paths and dates in prompts do not reach. */
function toShape({ captured: _, ways, ...rest }: Profile) {
  const steps = (kilobytes: object) => Object.values(kilobytes).map((size: number) => Math.log(size) / Math.log(1.1));
  return { rest, ways: ways.map(({ kilobytes, ...way }) => way), sizes: ways.map(({ kilobytes }) => steps(kilobytes)) };
}

const isListingHost = (name: string) => (listingHosts as readonly string[]).includes(name);

/** What the pinned version of a host shows is what is committed. */
export function describeProfile(name: keyof typeof hostProfiles): void {
  needsHost(name);
  const committed = hostProfiles[name];

  it("is what the pinned version shows: if not, renew it with node scripts/hostProfiles.mjs --write", async () => {
    const script = join(root, "scripts/hostProfiles.mjs");
    const { stdout } = await promisify(execFile)(process.execPath, [script, name]);
    const [now, then] = [JSON.parse(stdout)[name] as Profile, committed].map(toShape);
    expect(now?.rest).toEqual(then?.rest);
    expect(now?.ways).toEqual(then?.ways);
    for (const [at, size] of now?.sizes.flat().entries() ?? [])
      expect(size).toBeCloseTo(then?.sizes.flat()[at] ?? 0, 0);
  });

  it("is in the docs", () => {
    const page = readFileSync(join(root, "docs/hosts.md"), "utf8");
    expect(page).toContain(
      `### ${committed.title} ${committed.version}\n\nCaptured ${committed.captured}. Tools are named`,
    );
    for (const { kilobytes } of committed.ways) expect(page).toContain(`${kilobytes[200]} KB`);
  });

  it.runIf(isListingHost(name))("agrees with the listing that lint and search predict for 100 skills", () => {
    const skills = Array.from({ length: 100 }, (_, i) => {
      const words = "use it when the words of a request ask for it. ".repeat(11);
      return { name: `trick-${String(i).padStart(3, "0")}`, description: `Trick ${i}: ${words}`.trim() };
    });
    const predicted = listSkills(skills, name as ListingHost);
    const count = (shown: string) => predicted.filter((one) => one.shown === shown).length;
    // Some descriptions more or less fit in, as the host's own skills change.
    expect(Math.abs(count("whole") - committed.skills.full)).toBeLessThanOrEqual(3);
    expect(Math.abs(count("cut") - committed.skills.cut)).toBeLessThanOrEqual(3);
  });
}
