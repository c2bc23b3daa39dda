import { useMediaQuery } from "@mantine/hooks";

/** Whether the screen is too narrow for tables and a side navigation. */
export function usePhone(): boolean {
  return useMediaQuery("(max-width: 47.99em)", false, { getInitialValueInEffect: false }) ?? false;
}
