import { Checkbox, NumberInput, Stack, Text, TextInput } from "@mantine/core";

import type { Schema } from "../../api/client";

type Verify = Schema["ResponseChecks"];

interface Props {
  label: string;
  error?: string;
  verify: Verify;
  onChange: (verify: Verify) => void;
}

/** The checks of responses, in the order of the YAML field. */
const checks = [
  { name: "schema", label: "JSON matches the request’s schema" },
  { name: "tools", label: "Tool calls are valid" },
  { name: "code", label: "Code blocks parse (JSON, Go)" },
  { name: "hook", label: "A hook returns at least the minimum score" },
] as const;

/** The fields of the effect that checks responses before they are served. */
export function Verification({ label, error, verify, onChange }: Props) {
  const chosen = verify.checks ?? [];
  const toggle = (name: string, on: boolean) => {
    const next = checks
      .map((check) => check.name as string)
      .filter((one) => (one === name ? on : chosen.includes(one)));
    const rest: Verify = { ...verify, checks: next };
    if (name === "hook" && !on) {
      delete rest.hook;
      delete rest.threshold;
    }
    onChange(rest);
  };
  return (
    <Stack gap={4} role="group" aria-label={label}>
      <div>
        <Text size="xs" fw={500}>
          {label}
        </Text>
        <Text size="xs" c="dimmed">
          If the response fails a check, the next model serves the request. Both responses are charged.
        </Text>
      </div>
      {checks.map((check) => (
        <Checkbox
          key={check.name}
          size="xs"
          label={check.label}
          checked={chosen.includes(check.name)}
          onChange={(event) => toggle(check.name, event.currentTarget.checked)}
        />
      ))}
      {chosen.includes("hook") && (
        <>
          <TextInput
            size="xs"
            label="Hook URL"
            placeholder="https://checks.example.com/score"
            value={verify.hook ?? ""}
            onChange={(event) => onChange({ ...verify, hook: event.currentTarget.value })}
          />
          <NumberInput
            size="xs"
            label="Minimum score"
            min={0}
            max={1}
            step={0.1}
            value={verify.threshold ?? 0.5}
            onChange={(value) => onChange({ ...verify, threshold: typeof value === "number" ? value : 0.5 })}
          />
        </>
      )}
      <Checkbox
        size="xs"
        label="Also check streamed responses (the stream starts after the checks pass)"
        checked={verify.streams !== false}
        onChange={(event) => {
          const next: Verify = { ...verify };
          if (event.currentTarget.checked) {
            delete next.streams;
          } else {
            next.streams = false;
          }
          onChange(next);
        }}
      />
      {error && (
        <Text size="xs" c="red">
          {error}
        </Text>
      )}
    </Stack>
  );
}
