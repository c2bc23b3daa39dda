// Charts use patterns as well as colours, so that the meaning never depends on colour alone.

/** Fill pattern of a surface. */
export type Fill = "solid" | "hatched" | "dotted" | "crossed";

interface Props {
  id: string;
  fill: Fill;
  /** A CSS colour. */
  colour: string;
}

/** An SVG pattern definition. */
export function Pattern({ id, fill, colour }: Props) {
  return (
    <pattern
      id={id}
      width={6}
      height={6}
      patternUnits="userSpaceOnUse"
      patternTransform={fill === "hatched" ? "rotate(45)" : ""}
    >
      <rect width={6} height={6} fill={colour} opacity={fill === "solid" ? 1 : 0.28} />
      {fill === "hatched" && <rect width={2.4} height={6} fill={colour} />}
      {fill === "dotted" && <circle cx={3} cy={3} r={1.6} fill={colour} />}
      {fill === "crossed" && <path d="M0 0 6 6M6 0 0 6" stroke={colour} strokeWidth={1.4} />}
    </pattern>
  );
}

/** A pattern in a legend. */
export function Swatch(props: Props) {
  return (
    <svg width={16} height={12} aria-hidden="true" focusable="false">
      <defs>
        <Pattern {...props} />
      </defs>
      <rect x={0.5} y={0.5} width={15} height={11} fill={`url(#${props.id})`} stroke={props.colour} />
    </svg>
  );
}

/** A line in a legend. */
export function LineSwatch({ colour, dash }: { colour: string; dash?: string }) {
  return (
    <svg width={18} height={12} aria-hidden="true" focusable="false">
      <path d="M0 6h18" stroke={colour} strokeWidth={2.5} strokeDasharray={dash} />
    </svg>
  );
}
