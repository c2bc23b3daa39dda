import { MantineProvider } from "@mantine/core";
import { render } from "@testing-library/react";
import type { ReactNode } from "react";

/** Renders a component inside the theme, without animations. */
export function renderWithTheme(element: ReactNode) {
  return render(<MantineProvider env="test">{element}</MantineProvider>);
}
