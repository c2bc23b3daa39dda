import { Anchor, Button, Group, Select, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";

import type { Schema } from "../../api/client";
import { Condition } from "./Condition";

interface Props {
  when: string;
  fields: Schema["PolicyField"][];
  error?: string;
  onChange: (when: string) => void;
}

/** The condition of a policy as CEL and in words, with a helper to add comparisons. */
export function ConditionField({ when, fields, error, onChange }: Props) {
  const [adding, setAdding] = useState(false);
  return (
    <Stack gap={4}>
      <Textarea
        size="xs"
        label="Condition"
        placeholder="Leave empty to always apply"
        autosize
        minRows={1}
        maxRows={8}
        spellCheck={false}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        value={when}
        error={error}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <Group gap="xs" justify="space-between">
        <Text size="xs" c="dimmed" component="div">
          <Condition when={when} />
        </Text>
        <Anchor
          component="button"
          type="button"
          size="xs"
          aria-expanded={adding}
          onClick={() => setAdding(!adding)}
        >
          {adding ? "Close" : "Add comparison"}
        </Anchor>
      </Group>
      {adding && (
        <Comparison
          fields={fields}
          onAdd={(comparison) => {
            onChange(when.trim() ? `${parenthesised(when.trim())} && ${comparison}` : comparison);
            setAdding(false);
          }}
        />
      )}
    </Stack>
  );
}

/** Adds parentheses to an expression with "or", so that it can be combined with "and". */
function parenthesised(when: string): string {
  return when.includes("||") && !/^\([^()]*\)$/.test(when) ? `(${when})` : when;
}

const operators = [
  { value: "==", label: "is" },
  { value: "!=", label: "is not" },
  { value: "<", label: "<" },
  { value: "<=", label: "≤" },
  { value: ">", label: ">" },
  { value: ">=", label: "≥" },
];

function Comparison({
  fields,
  onAdd,
}: {
  fields: Schema["PolicyField"][];
  onAdd: (comparison: string) => void;
}) {
  const [name, setName] = useState("request.task");
  const [entry, setEntry] = useState("team");
  const [operator, setOperator] = useState("==");
  const [value, setValue] = useState("");
  const field = fields.find((f) => f.name === name);
  const usable = fields.filter((f) => f.type !== "time");
  const choices = field?.type === "true or false" ? ["true", "false"] : (field?.values ?? []);
  return (
    <Group gap={6} align="flex-end" role="group" aria-label="Comparison">
      <Select
        size="xs"
        label="Field"
        w={170}
        searchable
        allowDeselect={false}
        data={usable.map((f) => f.name)}
        value={name}
        onChange={(next) => {
          setName(next ?? name);
          setValue("");
          setOperator("==");
        }}
      />
      {field?.type === "map of text" && (
        <TextInput
          size="xs"
          label="Tag"
          w={90}
          value={entry}
          onChange={(e) => setEntry(e.currentTarget.value)}
        />
      )}
      <Select
        size="xs"
        label="Operator"
        w={86}
        allowDeselect={false}
        data={field?.type === "number" ? operators : operators.slice(0, 2)}
        value={operator}
        onChange={(next) => setOperator(next ?? "==")}
      />
      {choices.length > 0 ? (
        <Select
          size="xs"
          label="Value"
          w={130}
          data={choices}
          value={value || null}
          onChange={(v) => setValue(v ?? "")}
        />
      ) : (
        <TextInput
          size="xs"
          label="Value"
          w={130}
          value={value}
          onChange={(e) => setValue(e.currentTarget.value)}
        />
      )}
      <Button
        size="xs"
        variant="default"
        disabled={!value || (field?.type === "number" && !/^\d+$/.test(value))}
        onClick={() => field && onAdd(comparison(field, entry, operator, value))}
      >
        Add
      </Button>
      {field && (
        <Text size="xs" c="dimmed" w="100%">
          {field.doc}
        </Text>
      )}
    </Group>
  );
}

/** Writes a comparison in CEL. */
export function comparison(
  field: Schema["PolicyField"],
  entry: string,
  operator: string,
  value: string,
): string {
  const name = field.type === "map of text" ? `${field.name}[${JSON.stringify(entry)}]` : field.name;
  if (field.type === "true or false") {
    return (value === "true") === (operator === "==") ? name : `!${name}`;
  }
  return `${name} ${operator} ${field.type === "number" ? value : JSON.stringify(value)}`;
}
