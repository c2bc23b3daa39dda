import { describe, expect, it } from "vitest";

import type { Schema } from "../../../api/client";
import { excludedNote, usageNote } from "./Bill";

type Detail = Schema["RequestDetail"];

const request = (usage_flag: Detail["usage_flag"], estimated: boolean) =>
  ({ usage_flag, tokens: { estimated } }) as Pick<Detail, "usage_flag" | "tokens">;

describe("usageNote", () => {
  it("explains why the provider's counts are not used", () => {
    expect(usageNote(request(null, false))).toBe("");
    expect(usageNote(request(null, true))).toContain("reported no token counts");
    expect(usageNote(request("rejected", true))).toContain("impossible token counts");
    expect(usageNote(request("above_hold", false))).toContain("reserved amount is charged");
  });
});

describe("excludedNote", () => {
  it("names the fees that the total lacks", () => {
    expect(excludedNote(undefined)).toBe("");
    expect(excludedNote({ excluded: [] })).toBe("");
    expect(excludedNote({ excluded: ["web_search"] })).toContain("not included");
    expect(excludedNote({ excluded: ["input_audio", "transcription"] })).toBe(
      "The audio input is not included, because its price is unknown. " +
        "Transcription is not included, because its price is unknown. ",
    );
  });
});
