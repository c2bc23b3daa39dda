import { useRef, useState } from "react";

interface Mouse {
  activeLabel?: string | number;
}

interface Handlers {
  /** Called after dragging, with the first and last bucket. */
  onZoom: (from: string, to: string) => void;
  /** Called when one bucket is clicked. */
  onPick?: (at: string) => void;
  /** Called when the mouse button is released or the pointer leaves the chart. */
  onEnd?: () => void;
}

/** Dragging over a chart selects a range; a click selects one bucket. */
export function useZoom({ onZoom, onPick, onEnd }: Handlers) {
  // A ref, because the chart delivers several events in one frame, before a state update takes effect.
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
