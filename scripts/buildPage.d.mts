import type { Metafile } from "esbuild";

/** The source of the module that `#page` names, and what is in it. */
export function buildPage(): Promise<{ source: string; metafile: Metafile }>;
