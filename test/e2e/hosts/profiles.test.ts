import { describe } from "vitest";
import { describeProfile } from "./profile.ts";

describe.each(["claude-code", "codex"] as const)("the profile of %s", describeProfile);
