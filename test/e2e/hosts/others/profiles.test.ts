import { describe } from "vitest";
import { describeProfile } from "../profile.ts";

describe.each(["copilot", "goose", "gemini-cli"] as const)("the profile of %s", describeProfile);
