import { expect, test } from "vitest";

import type { Schema } from "../../api/client";
import { forecastText } from "./forecast";

const now = Date.parse("2026-11-15T12:00:00Z");
const grown: Schema["StorageForecast"] = {
  outlook: "grows",
  measured_ms: 4 * 86_400_000,
  growth_bytes_per_day: 100_000_000,
  full_at: null,
  balanced_at: null,
  balanced_bytes: null,
};

test.each([
  {
    name: "what was not measured is not known",
    forecast: { outlook: "unknown", measured_ms: null, growth_bytes_per_day: null },
    value: "—",
    text: "Not known yet: growth has to be measured for a day first.",
  },
  {
    name: "a database that shrinks",
    forecast: { outlook: "steady", growth_bytes_per_day: -5 },
    value: "not growing",
    text: "The database did not grow over the last 4 days.",
  },
  {
    name: "a disk that fills",
    forecast: { outlook: "fills", full_at: "2026-11-18T18:00:00Z" },
    value: "full in 3 days",
    text: "It grew by 100.0 MB a day over the last 4 days: at that rate the disk is full on 18 Nov 2026. Keep less, or make room.",
  },
  {
    name: "a disk that fills before retention helps",
    forecast: { outlook: "fills", full_at: "2026-11-16T13:00:00Z", balanced_at: "2027-02-01T00:00:00Z" },
    value: "full in 1 day",
    text: "It grew by 100.0 MB a day over the last 4 days: at that rate the disk is full on 16 Nov 2026. Retention would balance it only on 1 Feb 2027: keep less, or make room.",
  },
  {
    name: "retention that balances",
    forecast: { outlook: "balances", balanced_at: "2026-12-05T12:00:00Z", balanced_bytes: 3_000_000_000 },
    value: "balanced in 20 days",
    text: "It grew by 100.0 MB a day over the last 4 days. From 5 Dec 2026 on as much is deleted by age as comes in, at about 3.0 GB, if traffic stays as it is.",
  },
  {
    name: "a disk that is far from full",
    forecast: {},
    value: "+100.0 MB a day",
    text: "Measured over the last 4 days. At that rate the disk lasts for more than ten years.",
  },
  {
    name: "a database elsewhere",
    store: "postgres",
    forecast: { measured_ms: 86_400_000 },
    value: "+100.0 MB a day",
    text: "Measured over the last day. How much room the database server has is not known here.",
  },
] as { name: string; store?: string; forecast: object; value: string; text: string }[])(
  "$name",
  ({ forecast, store = "sqlite", value, text }) => {
    expect(forecastText({ ...grown, ...forecast }, store, "utc", now)).toEqual({ value, text });
  },
);
