import {
  Anchor,
  Badge,
  createTheme,
  type CSSVariablesResolver,
  DEFAULT_THEME,
  Drawer,
  Modal,
  Select,
  Table,
  Tooltip,
} from "@mantine/core";

/** Focuses the page when the element that opened a dialog no longer exists, such as the row of a revoked key. */
function keepFocus(): void {
  if (document.activeElement === document.body) {
    document.getElementById("main")?.focus({ preventScroll: true });
  }
}

/** The theme: Mantine's defaults with sufficient contrast. */
export const theme = createTheme({
  primaryColor: "cyan",
  primaryShade: { light: 9, dark: 9 },
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  defaultRadius: "sm",
  respectReducedMotion: true,
  headings: {
    fontWeight: "600",
    sizes: { h1: { fontSize: "1.4rem" }, h2: { fontSize: "1.1rem" }, h3: { fontSize: "1rem" } },
  },
  components: {
    // Links within text must not be recognisable by colour alone.
    Anchor: Anchor.extend({ defaultProps: { underline: "always" } }),
    Drawer: Drawer.extend({ defaultProps: { attributes: { header: { role: "none" } } } }),
    Badge: Badge.extend({ defaultProps: { variant: "outline", tt: "none", fw: 600 } }),
    Tooltip: Tooltip.extend({
      defaultProps: {
        withArrow: true,
        multiline: true,
        maw: 360,
        events: { hover: true, focus: true, touch: true },
      },
    }),
    // On phones an absolutely positioned dropdown makes the page jump when its first option scrolls into view.
    Select: Select.extend({ defaultProps: { comboboxProps: { floatingStrategy: "fixed" } } }),
    Table: Table.extend({ defaultProps: { verticalSpacing: "xs" } }),
    Modal: Modal.extend({
      defaultProps: {
        centered: true,
        onExitTransitionEnd: keepFocus,
        closeButtonProps: { "aria-label": "Close" },
        attributes: { header: { role: "none" } },
      },
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
  // Gray marks the normal state, so it only needs to be legible.
  light["--mantine-color-gray-outline"] = "var(--mantine-color-gray-7)";
  return { variables: {}, light, dark };
};
