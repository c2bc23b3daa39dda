import { type MantineColorScheme, useMantineColorScheme } from "@mantine/core";

const order: MantineColorScheme[] = ["auto", "light", "dark"];

/** The chosen theme and its setters. */
export function useTheme() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return {
    scheme: colorScheme,
    set: setColorScheme,
    next: () => setColorScheme(order[(order.indexOf(colorScheme) + 1) % order.length] ?? "auto"),
  };
}
