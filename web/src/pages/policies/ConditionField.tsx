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

/** The condition of a policy: as it is written, in words, and with help to write it. */
export function ConditionField({ when, fields, error, onChange }: Props) {
  const [adding, setAdding] = useState(false);
  return (
    <Stack gap={4}>
      <Textarea
        size="xs"
        label="Condition"
        placeholder="None: it always applies"
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
          {adding ? "Close" : "Add a comparison"}
        </Anchor>
      </Group>
      {adding && (
        <Comparison
          fields={fields}
          onAdd={(comparison) => {
            onChange(when.trim() ? `${wrapped(when.trim())} && ${comparison}` : comparison);
            setAdding(false);
          }}
        />
      )}
    </Stack>
  );
}

/** What is joined by "or" must stay together beside "and". */
function wrapped(when: string): string {
  return when.includes("||") && !/^\([^()]*\)$/.test(when) ? `(${when})` : when;
}

const signs = [
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
  const [sign, setSign] = useState("==");
  const [value, setValue] = useState("");
  const field = fields.find((f) => f.name === name);
  const usable = fields.filter((f) => f.type !== "time");
  const choices = field?.type === "true or false" ? ["true", "false"] : (field?.values ?? []);
  return (
    <Group gap={6} align="flex-end" role="group" aria-label="Comparison">
      <Select
        size="xs"
        label="What"
        w={170}
        searchable
        allowDeselect={false}
        data={usable.map((f) => f.name)}
        value={name}
        onChange={(next) => {
          setName(next ?? name);
          setValue("");
          setSign("==");
        }}
      />
      {field?.type === "texts by name" && (
        <TextInput
          size="xs"
          label="Entry"
          w={90}
          value={entry}
          onChange={(e) => setEntry(e.currentTarget.value)}
        />
      )}
      <Select
        size="xs"
        label="Compared"
        w={86}
        allowDeselect={false}
        data={field?.type === "number" ? signs : signs.slice(0, 2)}
        value={sign}
        onChange={(next) => setSign(next ?? "==")}
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
        onClick={() => field && onAdd(comparison(field, entry, sign, value))}
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
export function comparison(field: Schema["PolicyField"], entry: string, sign: string, value: string): string {
  const name = field.type === "texts by name" ? `${field.name}[${JSON.stringify(entry)}]` : field.name;
  if (field.type === "true or false") {
    return (value === "true") === (sign === "==") ? name : `!${name}`;
  }
  return `${name} ${sign} ${field.type === "number" ? value : JSON.stringify(value)}`;
}
