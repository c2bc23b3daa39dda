import { Badge } from "@mantine/core";

/** Badge that marks a difference, so that the meaning never depends on colour alone. */
export function Differs() {
  return (
    <Badge ml={6} size="xs" radius="sm" color="orange">
      differs
    </Badge>
  );
}
