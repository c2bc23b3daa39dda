import { useState } from "react";

/** Reports whether a condition has ever been true: what a dialog shows stays while it closes. */
export function useOnce(now: boolean): boolean {
  const [once, setOnce] = useState(now);
  if (now && !once) {
    setOnce(true);
  }
  return once;
}
