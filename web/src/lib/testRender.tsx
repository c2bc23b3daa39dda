import { MantineProvider } from "@mantine/core";
import { render } from "@testing-library/react";
import type { ReactNode } from "react";

/** Renders a component with the theme around it, without animations. */
export function renderPart(part: ReactNode) {
  return render(<MantineProvider env="test">{part}</MantineProvider>);
}
