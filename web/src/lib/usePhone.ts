import { useMediaQuery } from "@mantine/hooks";

/** Whether the screen is too narrow for tables and a navigation at the side. */
export function usePhone(): boolean {
  return useMediaQuery("(max-width: 47.99em)", false, { getInitialValueInEffect: false }) ?? false;
}
