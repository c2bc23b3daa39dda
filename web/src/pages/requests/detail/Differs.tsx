import { Badge } from "@mantine/core";

/** Badge that marks a difference, so that colour alone never carries meaning. */
export function Differs() {
  return (
    <Badge ml={6} size="xs" radius="sm" color="orange">
      differs
    </Badge>
  );
}
