// What a chart shows is told by a pattern as well as by a colour.

/** How a surface is filled. */
export type Fill = "solid" | "hatched" | "dotted" | "crossed";

interface Props {
  id: string;
  fill: Fill;
  /** A colour of CSS. */
  colour: string;
}

/** One pattern for the definitions of an SVG. */
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

/** The sample of a pattern in a legend. */
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

/** The sample of a line in a legend. */
export function LineSwatch({ colour, dash }: { colour: string; dash?: string }) {
  return (
    <svg width={18} height={12} aria-hidden="true" focusable="false">
      <path d="M0 6h18" stroke={colour} strokeWidth={2.5} strokeDasharray={dash} />
    </svg>
  );
}
