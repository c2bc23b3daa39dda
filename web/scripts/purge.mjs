// Removes the style rules of Mantine components that no script of the build uses. Mantine's class names are hashes such
// as m_8d3f4000, and a component's script names its classes, so an unused rule is recognisable.
import { createHash } from "node:crypto";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";

const dist = new URL("../stub/dist/", import.meta.url).pathname;
const assets = path.join(dist, "assets");

const names = await readdir(assets);
const used = new Set();
for (const name of names.filter((name) => name.endsWith(".js"))) {
  for (const [found] of (await readFile(path.join(assets, name), "utf8")).matchAll(/m_[0-9a-f]{4,}/g)) {
    used.add(found);
  }
}

// purge returns the rules that can apply. Rules in @media, @supports and @layer are checked individually.
function purge(css) {
  let out = "";
  for (let at = 0; at < css.length;) {
    const open = css.indexOf("{", at);
    const statement = css.indexOf(";", at);
    if (statement >= 0 && (open < 0 || statement < open)) {
      out += css.slice(at, statement + 1);
      at = statement + 1;
      continue;
    }
    if (open < 0) {
      return out + css.slice(at);
    }
    const close = end(css, open);
    const prelude = css.slice(at, open);
    const body = css.slice(open + 1, close);
    at = close + 1;
    if (/^\s*@(media|supports|layer|container)/.test(prelude)) {
      const rest = purge(body);
      out += rest.trim() && `${prelude}{${rest}}`;
    } else if (prelude.trimStart().startsWith("@") || applies(prelude)) {
      out += `${prelude}{${body}}`;
    }
  }
  return out;
}

// end returns the index of the brace that closes the one at open. Strings in this style sheet contain no braces.
function end(css, open) {
  for (let i = open, depth = 0; i < css.length; i++) {
    depth += css[i] === "{" ? 1 : css[i] === "}" ? -1 : 0;
    if (depth === 0) {
      return i;
    }
  }
  throw new Error("unbalanced braces in the style sheet");
}

// applies reports whether any selector of a list can match. Commas inside :is() can only make it keep more rules.
function applies(selectors) {
  return selectors
    .split(",")
    .some((selector) => [...selector.matchAll(/m_[0-9a-f]{4,}/g)].every(([name]) => used.has(name)));
}

for (const name of names.filter((name) => name.endsWith(".css"))) {
  const before = await readFile(path.join(assets, name), "utf8");
  const after = purge(before);
  // The name contains a hash of the content, because browsers never ask for the file again.
  const hash = createHash("sha256").update(after).digest("base64url").slice(0, 8);
  const renamed = `style-${hash}.css`;
  await writeFile(path.join(assets, name), after);
  await rename(path.join(assets, name), path.join(assets, renamed));
  for (const file of ["index.html", ".vite/manifest.json"]) {
    const text = await readFile(path.join(dist, file), "utf8");
    await writeFile(path.join(dist, file), text.replaceAll(name, renamed));
  }
  console.log(`style sheet: ${before.length} bytes, ${after.length} without unused components`);
}
