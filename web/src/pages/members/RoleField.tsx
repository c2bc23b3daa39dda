import { Radio, Stack } from "@mantine/core";

import { grantable, type Role } from "./roles";

interface Props {
  value: Role;
  onChange: (role: Role) => void;
  /** Role of the signed-in user. */
  own: Role;
  error?: string;
}

/** Selects a role that is not above the user's own. */
export function RoleField({ value, onChange, own, error }: Props) {
  return (
    <Radio.Group label="Role" value={value} onChange={(role) => onChange(role as Role)} error={error}>
      <Stack gap="xs" mt={6}>
        {grantable(own).map((role) => (
          <Radio key={role.value} value={role.value} label={role.label} description={role.description} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
