// Replaces every text file of the build by its .gz file, so that the binary contains one copy and the gateway does not
// compress responses, and checks how much a browser loads for the first page.
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const dist = new URL("../stub/dist/", import.meta.url).pathname;
const compressible = new Set([".js", ".css", ".svg", ".txt"]);
// Limits of the first load, with everything that the page needs: page, scripts, styles, icon and font. Sizes are those
// of gzip.
const budget = { files: 12, bytes: 300_000 };
// The start page is part of the first script. Other pages load more files, which are cached.
const startPage = "index.html";
// The policy editor is the largest lazy file.
const lazyBudget = 150_000;
// The shipped font, of which the gateway serves one subset.
const fontBudget = 120_000;

const manifestFile = path.join(dist, ".vite/manifest.json");
const manifest = JSON.parse(await readFile(manifestFile, "utf8"));
await rm(path.dirname(manifestFile), { recursive: true });

const sizes = new Map();
for (const name of await readdir(dist, { recursive: true })) {
  const file = path.join(dist, name);
  if (!(await stat(file)).isFile()) {
    continue;
  }
  const content = await readFile(file);
  const small = await promisify(gzip)(content, { level: 9 });
  const packed = compressible.has(path.extname(name)) && small.length < content.length;
  sizes.set(name, packed ? small.length : content.length);
  if (packed) {
    await writeFile(file + ".gz", small);
    await rm(file);
  }
}

// filesOf lists the scripts that a module of the manifest needs before it can run.
function filesOf(key, found = new Set()) {
  const entry = manifest[key];
  if (!entry) {
    throw new Error(`${key} is not in the build`);
  }
  if (!found.has(entry.file)) {
    found.add(entry.file);
    for (const other of entry.imports ?? []) {
      filesOf(other, found);
    }
  }
  return found;
}

const page = await readFile(path.join(dist, "index.html"), "utf8");
const linked = [...page.matchAll(/(?:src|href)="\/(?!api\/)([^"]+)"/g)].map(([, name]) => name);
const fail = (message) => {
  console.error(`error: ${message}`);
  process.exitCode = 1;
};
const first = new Set([startPage, ...linked, ...filesOf(startPage)]);
const bytes = [...first].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
console.log(`first load: ${first.size} files, ${bytes} bytes with gzip`);
if (first.size > budget.files || bytes > budget.bytes) {
  fail(`the budget of a first load is ${budget.files} files and ${budget.bytes} bytes`);
  for (const name of first) {
    console.error(`  ${sizes.get(name)} ${name}`);
  }
}
let fonts = 0;
for (const [name, size] of sizes) {
  if (name.endsWith(".woff2")) {
    fonts += size;
  } else if (!first.has(name) && size > lazyBudget) {
    fail(`${name} has ${size} bytes; the budget of a lazy file is ${lazyBudget}`);
  }
}
if (fonts > fontBudget) {
  fail(`the fonts have ${fonts} bytes; the budget is ${fontBudget}`);
}
