// Writes .gz and .br files next to every text file of the build, so that the gateway does not compress responses.
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const dist = new URL("../stub/dist/", import.meta.url).pathname;
const compressible = new Set([".js", ".css", ".svg"]);
// Size limits of the files that the first page loads; all others are loaded lazily.
const budget = { js: 240_000, css: 45_000 };
// The policy editor is the largest lazy file.
const lazyBudget = 150_000;

const files = (await readdir(dist, { recursive: true })).filter((name) =>
  compressible.has(path.extname(name)),
);
const sizes = new Map();
for (const name of files) {
  const content = await readFile(path.join(dist, name));
  const [small, smaller] = await Promise.all([
    promisify(gzip)(content, { level: 9 }),
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
  ]);
  sizes.set("/" + name, small.length);
  if (small.length < content.length) {
    await writeFile(path.join(dist, name + ".gz"), small);
    await writeFile(path.join(dist, name + ".br"), smaller);
  }
}

const page = await readFile(path.join(dist, "index.html"), "utf8");
const first = [...page.matchAll(/(?:src|href)="(\/[^"]+\.(js|css))"/g)];
const total = { js: 0, css: 0 };
for (const [, name, kind] of first) {
  total[kind] += sizes.get(name) ?? 0;
}
console.log(`first load, gzip: ${total.js} bytes of JavaScript, ${total.css} bytes of CSS`);
const firstNames = new Set(first.map(([, name]) => name));
for (const [name, size] of sizes) {
  if (!firstNames.has(name) && size > lazyBudget) {
    console.error(`error: ${name} has ${size} bytes; the budget of a lazy file is ${lazyBudget}`);
    process.exitCode = 1;
  }
}
for (const kind of Object.keys(budget)) {
  if (total[kind] > budget[kind]) {
    console.error(`error: the first load has ${total[kind]} bytes of ${kind}; the budget is ${budget[kind]}`);
    process.exitCode = 1;
  }
}
