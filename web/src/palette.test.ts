import { describe, expect, it } from "vitest";

import { charts, palette } from "./palette";

type Colour = [number, number, number];

// Matrices of Machado, Oliveira and Fernandes (2009) for complete deficiencies, applied to linear RGB.
const vision: Record<string, number[]> = {
  "full colour vision": [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

// Background of panels, and of the rows below the pointer.
const backgrounds = { light: ["#ffffff", "#f8f9fa"], dark: ["#242424", "#2e2e2e"] };

// WCAG 1.4.11: parts of a graphic need a contrast of 3:1.
const leastContrast = 3;
// Distance in OKLab, in percent. Two colours at 2 are just distinguishable side by side.
const leastDistance = 14;

function linear(hex: string): Colour {
  return [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as Colour;
}

function multiply(m: number[], c: Colour): Colour {
  return [0, 3, 6].map((row) => c.reduce((sum, value, i) => sum + (m[row + i] ?? 0) * value, 0)) as Colour;
}

function seen(hex: string, matrix: number[]): Colour {
  return multiply(matrix, linear(hex)).map((c) => Math.min(1, Math.max(0, c))) as Colour;
}

function oklab(c: Colour): Colour {
  const toCones = [
    0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451, 0.1073969566, 0.0883024619,
    0.2817188376, 0.6299787005,
  ];
  const toLab = [
    0.2104542553, 0.793617785, -0.0040720468, 1.9779984951, -2.428592205, 0.4505937099, 0.0259040371,
    0.7827717662, -0.808675766,
  ];
  return multiply(toLab, multiply(toCones, c).map(Math.cbrt) as Colour);
}

function distance(a: string, b: string, matrix: number[]): number {
  const [x, y] = [oklab(seen(a, matrix)), oklab(seen(b, matrix))];
  return 100 * Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

function contrast(a: string, b: string): number {
  const luminance = ([r, g, b]: Colour) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const [low, high] = [luminance(linear(a)), luminance(linear(b))].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

it("computes color distance and contrast", () => {
  const all = vision["full colour vision"] ?? [];
  expect(distance("#ffffff", "#000000", all)).toBeCloseTo(100, 1);
  // A known pair of red and green that is hard to tell apart with deuteranopia.
  expect(distance("#9c6b30", "#6f7d32", vision["deuteranopia"] ?? [])).toBeLessThan(6);
  expect(contrast("#ffffff", "#000000")).toBeCloseTo(21);
});

describe.each(["light", "dark"] as const)("the %s palette", (scheme) => {
  const colours = palette[scheme];

  it.each(Object.entries(colours))("%s has enough contrast", (_, hex) => {
    for (const background of backgrounds[scheme]) {
      expect(contrast(hex, background)).toBeGreaterThanOrEqual(leastContrast);
    }
  });

  describe.each(Object.entries(charts))("in the chart %s", (_, names) => {
    it.each(Object.entries(vision))("has distinct colours with %s", (_, matrix) => {
      for (const [i, a] of names.entries()) {
        for (const b of names.slice(i + 1)) {
          expect(distance(colours[a], colours[b], matrix), `${a} and ${b}`).toBeGreaterThan(leastDistance);
        }
      }
    });
  });
});
