import { useRef, useState } from "react";

interface Mouse {
  activeLabel?: string | number;
}

interface Handlers {
  /** A span of time was dragged over, from its first to its last bucket. */
  onZoom: (from: string, to: string) => void;
  /** One bucket was clicked. */
  onPick?: (at: string) => void;
  /** The button was let go, or the pointer left the chart. */
  onEnd?: () => void;
}

/** Dragging over a chart chooses a range; a click chooses one bucket. */
export function useZoom({ onZoom, onPick, onEnd }: Handlers) {
  // The chart hands its events on a frame later, several at once: what one of them sets, the next must see.
  const start = useRef<string>(undefined);
  const [selection, setSelection] = useState<{ from: string; to: string }>();
  const label = (mouse: Mouse) => (mouse.activeLabel === undefined ? undefined : String(mouse.activeLabel));
  const stop = () => {
    start.current = undefined;
    setSelection(undefined);
    onEnd?.();
  };
  return {
    selection,
    handlers: {
      onMouseDown: (mouse: Mouse) => {
        start.current = label(mouse);
      },
      onMouseMove: (mouse: Mouse) => {
        const [from, to] = [start.current, label(mouse)];
        if (from !== undefined && to !== undefined) {
          setSelection(from === to ? undefined : { from, to });
        }
      },
      onMouseUp: (mouse: Mouse) => {
        const [from, to] = [start.current, label(mouse) ?? selection?.to];
        if (from !== undefined && to !== undefined) {
          if (from === to) {
            onPick?.(to);
          } else {
            onZoom(from, to);
          }
        }
        stop();
      },
      onMouseLeave: stop,
    },
  };
}
