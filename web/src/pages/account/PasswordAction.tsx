import { Button, Group, PasswordInput, Stack } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { asApiError } from "../../api/errors";
import { ErrorPanel } from "../../components/ErrorPanel";
import { CancelledError } from "../../lib/passkeys";
import { useSession } from "../../lib/session";

interface Props {
  button: string;
  /** What failed, for the error panel. */
  what: string;
  run: (password: string) => Promise<void>;
  /** Fields above the password. */
  children?: ReactNode;
  ready?: boolean;
  color?: string;
  onCancel?: () => void;
}

/** A button that requires the password. */
export function PasswordAction({ button, what, run, children, ready = true, color, onCancel }: Props) {
  const { account } = useSession();
  const [password, setPassword] = useState("");
  const action = useMutation({ mutationFn: () => run(password) });
  const error = action.error ? asApiError(action.error) : undefined;
  const wrong = error?.code === "WRONG_CREDENTIALS" ? error.message : undefined;
  const cancelled = action.error instanceof CancelledError ? action.error.message : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        action.mutate();
      }}
    >
      <Stack gap="sm">
        {children}
        <input type="hidden" name="username" autoComplete="username" value={account.email} />
        <PasswordInput
          label="Your password"
          required
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={wrong ?? cancelled}
          visibilityToggleButtonProps={{ "aria-label": "Show password" }}
        />
        {error && !wrong && !cancelled && <ErrorPanel what={what} error={error} />}
        <Group gap="xs">
          <Button
            type="submit"
            variant={color ? "filled" : "default"}
            color={color}
            disabled={!password || !ready}
            loading={action.isPending}
          >
            {button}
          </Button>
          {onCancel && (
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}
