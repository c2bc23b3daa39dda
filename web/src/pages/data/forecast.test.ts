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
    name: "growth that was not measured yet",
    forecast: { outlook: "unknown", measured_ms: null, growth_bytes_per_day: null },
    value: "—",
    text: "Not available yet. The forecast needs at least one day of data.",
  },
  {
    name: "a database that shrinks",
    forecast: { outlook: "steady", growth_bytes_per_day: -5 },
    value: "Not growing",
    text: "The database did not grow over the last 4 days.",
  },
  {
    name: "a disk that fills",
    forecast: { outlook: "fills", full_at: "2026-11-18T18:00:00Z" },
    value: "Full in 3 days",
    text: "The database grew by 100.0 MB per day over the last 4 days. At this rate, the disk will be full on 18 Nov 2026. Shorten retention or add disk space.",
  },
  {
    name: "a disk that fills before retention helps",
    forecast: { outlook: "fills", full_at: "2026-11-16T13:00:00Z", balanced_at: "2027-02-01T00:00:00Z" },
    value: "Full in 1 day",
    text: "The database grew by 100.0 MB per day over the last 4 days. At this rate, the disk will be full on 16 Nov 2026, before retention stops the growth on 1 Feb 2027. Shorten retention or add disk space.",
  },
  {
    name: "retention that stops the growth",
    forecast: { outlook: "balances", balanced_at: "2026-12-05T12:00:00Z", balanced_bytes: 3_000_000_000 },
    value: "Stable in 20 days",
    text: "The database grew by 100.0 MB per day over the last 4 days. At this rate it stops growing on 5 Dec 2026 at about 3.0 GB, when retention deletes as much data as is added.",
  },
  {
    name: "a disk that is far from full",
    forecast: {},
    value: "+100.0 MB per day",
    text: "Measured over the last 4 days. At this rate the disk lasts more than ten years.",
  },
  {
    name: "a database on another server",
    store: "postgres",
    forecast: { measured_ms: 86_400_000 },
    value: "+100.0 MB per day",
    text: "Measured over the last day. The free space of the database server is unknown.",
  },
] as { name: string; store?: string; forecast: object; value: string; text: string }[])(
  "$name",
  ({ forecast, store = "sqlite", value, text }) => {
    expect(forecastText({ ...grown, ...forecast }, store, "utc", now)).toEqual({ value, text });
  },
);
