const paths = {
  activity: "M3 12h4l3-8 4 16 3-8h4",
  alert:
    "M12 8v5m0 3.5v.01M10.3 3.9 2.4 17.5A2 2 0 0 0 4.1 20.5h15.8a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0Z",
  archive: "M4 7h16M5 7v12h14V7M3 4h18v3H3zM10 11h4",
  arrowRight: "M5 12h14m-6-6 6 6-6 6",
  arrowDown: "M12 5v14m-6-6 6 6 6-6",
  arrowUp: "M12 19V5m-6 6 6-6 6 6",
  ban: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM5.6 5.6l12.8 12.8",
  book: "M4 5a2 2 0 0 1 2-2h13v16H6a2 2 0 0 0-2 2zM4 19a2 2 0 0 0 2 2h13M8 7h7",
  chart: "M4 20V10M10 20V4M16 20v-7M21 20H3",
  check: "m5 12.5 4.5 4.5L19 7.5",
  chevronDown: "m6 9 6 6 6-6",
  chevronLeft: "m15 6-6 6 6 6",
  chevronRight: "m9 6 6 6-6 6",
  chevronUp: "m6 15 6-6 6 6",
  circle: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16Z",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3 2",
  columns: "M4 4h16v16H4zM10 4v16M15 4v16",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  cpu: "M7 7h10v10H7zM9 3v4m6-4v4M9 17v4m6-4v4M3 9h4m-4 6h4m10-6h4m-4 6h4",
  database:
    "M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3Zm0 0v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
  dots: "M5 12h.01M12 12h.01M19 12h.01",
  download: "M12 4v11m-5-5 5 5 5-5M4 20h16",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  external: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  filter: "M3 5h18l-7 8v6l-4 2v-8z",
  grip: "M9 6h.01M9 12h.01M9 18h.01M15 6h.01M15 12h.01M15 18h.01",
  history: "M4 4v5h5M4.6 9A8.5 8.5 0 1 1 3.5 13M12 8v4l3 2",
  home: "m3 11 9-8 9 8M5 9.5V20h14V9.5M10 20v-6h4v6",
  key: "M15.5 13a5 5 0 1 0-4.6-3L3 18v3h4v-3h3v-3l1.5-1.5M16 8h.01",
  layers: "m12 3 9 5-9 5-9-5zM3 12l9 5 9-5M3 16l9 5 9-5",
  link: "M9 15l6-6M11 6l1-1a4.2 4.2 0 0 1 6 6l-1 1M13 18l-1 1a4.2 4.2 0 0 1-6-6l1-1",
  list: "M8 6h13M8 12h13M8 18h13M3 6h.01M3 12h.01M3 18h.01",
  lock: "M6 11h12v10H6zM8.5 11V7.500a3.5 3.5 0 0 1 7 0V11",
  logout: "M10 4H5v16h5M15 8l4 4-4 4M19 12H9",
  moon: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z",
  pin: "M12 17v5M7 17h10l-1.5-4V5H17V3H7v2h1.5v8z",
  play: "M7 4v16l13-8z",
  plus: "M12 5v14M5 12h14",
  refresh: "M20 6v5h-5M4 18v-5h5M5.5 9A7.5 7.5 0 0 1 18.6 7.4L20 11M4 13l1.4 3.6A7.5 7.5 0 0 0 18.5 15",
  rocket: "M5 15c-1.5 1-2 5-2 5s4-.5 5-2M9 15l-2-2c.5-4.5 4-10 13-10 0 9-5.5 12.5-10 13zM15 9h.01",
  route:
    "M6 21a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM18 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM8.5 18.500H15a3.5 3.5 0 0 0 0-7H9a3.5 3.5 0 0 1 0-7h6.5",
  rows: "M3 6h18M3 12h18M3 18h18",
  search: "M10.5 18a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15ZM16 16l5 5",
  server: "M4 4h16v7H4zM4 13h16v7H4zM8 7.500h.01M8 16.500h.01",
  settings: "M4 7h9m4 0h3M4 17h3m4 0h9M15 4.500v5M9 14.500v5",
  shield: "M12 3 4 6v6c0 5 3.5 8 8 9 4.5-1 8-4 8-9V6z",
  skip: "M5 5l8 7-8 7zM17 5v14",
  stop: "M6 6h12v12H6z",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2v2m0 16v2M4.9 4.900l1.4 1.400m11.4 11.4 1.4 1.400M2 12h2m16 0h2M4.9 19.100l1.4-1.400M17.7 6.300l1.4-1.4",
  swap: "M4 8h14l-4-4M20 16H6l4 4",
  thumbDown:
    "M17 14V4H7.500a2 2 0 0 0-2 1.600l-1.300 6A2 2 0 0 0 6.200 14H10v4.500a2.500 2.500 0 0 0 2.500 2.500L17 14Zm0 0h3V4h-3",
  thumbUp:
    "M7 10v10h9.500a2 2 0 0 0 2-1.600l1.300-6A2 2 0 0 0 17.800 10H14V5.500A2.500 2.500 0 0 0 11.500 3L7 10Zm0 0H4v10h3",
  trash: "M4 6h16M9 6V4h6v2M6 6l1 15h10l1-15M10 10v7M14 10v7",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4 21c0-4 3.5-7 8-7s8 3 8 7",
  users:
    "M9 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM2 21c0-4 3-7 7-7s7 3 7 7M16 4.300a4 4 0 0 1 0 7.400M18 14.500c2.5 1 4 3.5 4 6.5",
  wallet: "M3 7h15a3 3 0 0 1 3 3v9H3zM3 7l12-4v4M16 14h.01",
  x: "M6 6l12 12M18 6 6 18",
} as const;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** A decorative icon. Screen readers skip it, so an icon-only control needs a label. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "dots" || name === "grip" ? 3 : 1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}
