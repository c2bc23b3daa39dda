/** What the gateway wrote into this page: the nonce for styles, or its version. Empty in `npm run dev`. */
export function pageFact(name: "nonce" | "version"): string {
  const text = document.querySelector<HTMLMetaElement>(`meta[name=fairlead-${name}]`)?.content ?? "";
  return text.startsWith("__") ? "" : text;
}
