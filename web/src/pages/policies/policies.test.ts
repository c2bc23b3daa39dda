import { expect, test } from "vitest";

import { endpointOf, readBody, samples } from "./samples";

test("every sample is a valid body for its endpoint", () => {
  for (const sample of samples) {
    const { body } = readBody(JSON.stringify(sample.body));
    expect(body).toEqual(sample.body);
    expect(endpointOf(sample.body)).toBe(sample.endpoint);
  }
});

test.each(["[]", "null", "3", '"text"'])("%s is not a body", (text) => {
  expect(readBody(text).problem).toMatch(/object/);
});

test("invalid JSON is reported with its position", () => {
  expect(readBody('{\n  "model": "auto",\n}').problem).toMatch(/Invalid JSON.*(line 3|position)/s);
});

test("a plain prompt becomes a request to auto", () => {
  expect(readBody("Write a poem.\nAbout rain.").body).toEqual({
    model: "auto",
    messages: [{ role: "user", content: "Write a poem.\nAbout rain." }],
  });
  expect(readBody("3 apples and 4 pears").body).toMatchObject({ model: "auto" });
});

test("an empty input is neither a body nor an error", () => {
  expect(readBody("  \n")).toEqual({});
});
