import { useState } from "react";

/**
 * Reports whether a condition has ever been true, so that the content of a dialog stays visible while the dialog
 * closes.
 */
export function useOnce(now: boolean): boolean {
  const [once, setOnce] = useState(now);
  if (now && !once) {
    setOnce(true);
  }
  return once;
}
