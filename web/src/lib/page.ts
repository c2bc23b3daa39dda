/** Reads a value that the gateway wrote into the page: the style nonce or its version. Empty in `npm run dev`. */
export function pageMeta(name: "nonce" | "version"): string {
  const text = document.querySelector<HTMLMetaElement>(`meta[name=fairlead-${name}]`)?.content ?? "";
  return text.startsWith("__") ? "" : text;
}
