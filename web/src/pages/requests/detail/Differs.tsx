import { Badge } from "@mantine/core";

/** Says in words what the line at the side says in colour. */
export function Differs() {
  return (
    <Badge ml={6} size="xs" radius="sm" color="orange">
      differs
    </Badge>
  );
}
