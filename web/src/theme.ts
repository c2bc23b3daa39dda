import {
  type AnchorProps,
  type BadgeProps,
  createTheme,
  type CSSVariablesResolver,
  DEFAULT_THEME,
  type DrawerProps,
  type MantineThemeComponent,
  type ModalProps,
  type SelectProps,
  type TableProps,
  type TooltipProps,
} from "@mantine/core";

import { palette } from "./palette";

/** Focuses the page when the element that opened a dialog no longer exists, such as the row of a revoked key. */
function keepFocus(): void {
  if (document.activeElement === document.body) {
    document.getElementById("main")?.focus({ preventScroll: true });
  }
}

/**
 * Default properties of a component. Only the type of the component is used, so that the first page does not load
 * dialogs and tables.
 */
function defaults<Props>(defaultProps: Partial<Props>): MantineThemeComponent {
  return { defaultProps };
}

/** The theme: Mantine's defaults with sufficient contrast. */
export const theme = createTheme({
  primaryColor: "cyan",
  primaryShade: { light: 9, dark: 9 },
  // The fallback has the metrics of Inter (styles.css), so that text does not move when the font arrives.
  fontFamily: "Inter, 'Inter fallback', system-ui, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  defaultRadius: "sm",
  respectReducedMotion: true,
  headings: {
    fontWeight: "600",
    sizes: { h1: { fontSize: "1.4rem" }, h2: { fontSize: "1.1rem" }, h3: { fontSize: "1rem" } },
  },
  components: {
    // Links within text must not be recognisable by colour alone.
    Anchor: defaults<AnchorProps>({ underline: "always" }),
    Drawer: defaults<DrawerProps>({ attributes: { header: { role: "none" } } }),
    Badge: defaults<BadgeProps>({ variant: "outline", tt: "none", fw: 600 }),
    Tooltip: defaults<TooltipProps>({
      withArrow: true,
      multiline: true,
      maw: 360,
      events: { hover: true, focus: true, touch: true },
    }),
    // On phones an absolutely positioned dropdown makes the page jump when its first option scrolls into view.
    Select: defaults<SelectProps>({ comboboxProps: { floatingStrategy: "fixed" } }),
    Table: defaults<TableProps>({ verticalSpacing: "xs" }),
    Modal: defaults<ModalProps>({
      centered: true,
      onExitTransitionEnd: keepFocus,
      closeButtonProps: { "aria-label": "Close" },
      attributes: { header: { role: "none" } },
    }),
  },
});

const colours = Object.keys(DEFAULT_THEME.colors).filter((name) => name !== "dark");

// Mantine's darkest shade of these colours is too light for text on white.
const darkest: Record<string, string> = {
  green: "#237032",
  lime: "#47730a",
  yellow: "#8f5300",
  orange: "#b83a08",
};

/** Mantine variables whose defaults fail WCAG AA. */
export const resolveVariables: CSSVariablesResolver = () => {
  const light: Record<string, string> = {
    "--mantine-color-dimmed": "var(--mantine-color-gray-7)",
    "--mantine-color-placeholder": "var(--mantine-color-gray-7)",
    "--mantine-color-error": "var(--mantine-color-red-9)",
  };
  const dark: Record<string, string> = {
    "--mantine-color-dimmed": "var(--mantine-color-dark-1)",
    "--mantine-color-placeholder": "var(--mantine-color-dark-1)",
    "--mantine-color-error": "var(--mantine-color-red-4)",
  };
  for (const colour of colours) {
    const deep = darkest[colour] ?? `var(--mantine-color-${colour}-9)`;
    light[`--mantine-color-${colour}-outline`] = deep;
    light[`--mantine-color-${colour}-light-color`] = deep;
    light[`--mantine-color-${colour}-text`] = deep;
    dark[`--mantine-color-${colour}-outline`] = `var(--mantine-color-${colour}-4)`;
    dark[`--mantine-color-${colour}-light-color`] = `var(--mantine-color-${colour}-2)`;
    dark[`--mantine-color-${colour}-text`] = `var(--mantine-color-${colour}-4)`;
  }
  // Mantine's hover shade of filled controls has too little contrast with white.
  light["--mantine-color-cyan-filled-hover"] = "#0a6374";
  dark["--mantine-color-cyan-filled-hover"] = "#0a6374";
  // Lines between panels and rows are lighter than those of fields.
  light["--mantine-color-default-border"] = "var(--mantine-color-gray-3)";
  dark["--mantine-color-default-border"] = "var(--mantine-color-dark-5)";
  // Gray marks the normal state, so it only needs to be legible.
  light["--mantine-color-gray-outline"] = "var(--mantine-color-gray-7)";
  for (const [name, colour] of Object.entries(palette.light)) {
    light[`--fl-${name}`] = colour;
  }
  for (const [name, colour] of Object.entries(palette.dark)) {
    dark[`--fl-${name}`] = colour;
  }
  return { variables: {}, light, dark };
};
