import { expect, test } from "vitest";

import { endpointOf, readBody, samples } from "./samples";

test("every sample is a body that can be read again, for its endpoint", () => {
  for (const sample of samples) {
    const { body } = readBody(JSON.stringify(sample.body));
    expect(body).toEqual(sample.body);
    expect(endpointOf(sample.body)).toBe(sample.endpoint);
  }
});

test.each(["[]", "null", "3", '"text"'])("%s is no body", (text) => {
  expect(readBody(text).problem).toMatch(/object/);
});

test("what is no JSON is told with its place", () => {
  expect(readBody('{\n  "model": "auto",\n}').problem).toMatch(/not JSON.*(line 3|position)/s);
});

test("a plain prompt is asked of auto", () => {
  expect(readBody("Write a poem.\nAbout rain.").body).toEqual({
    model: "auto",
    messages: [{ role: "user", content: "Write a poem.\nAbout rain." }],
  });
  expect(readBody("3 apples and 4 pears").body).toMatchObject({ model: "auto" });
});

test("nothing is neither a body nor a mistake", () => {
  expect(readBody("  \n")).toEqual({});
});
