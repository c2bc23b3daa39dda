import { Group, NumberInput, Stack, Switch, Textarea } from "@mantine/core";

import { type Parameters, toolsProblem } from "./draft";

interface Props {
  value: Parameters;
  onChange: (change: Partial<Parameters>) => void;
}

const exampleTool = `[{"type": "function", "function": {"name": "weather", "description": "The weather in a city",
  "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]`;

/** The request parameters other than the prompt. */
export function ParameterForm({ value, onChange }: Props) {
  return (
    <Stack gap="sm">
      <Textarea
        label="System prompt"
        placeholder="You are a helpful assistant."
        autosize
        minRows={2}
        maxRows={8}
        value={value.system}
        onChange={(event) => onChange({ system: event.currentTarget.value })}
      />
      <Group grow align="flex-start">
        <NumberInput
          label="Temperature"
          placeholder="Model default"
          min={0}
          max={2}
          step={0.1}
          decimalScale={2}
          value={value.temperature}
          onChange={(n) => onChange({ temperature: typeof n === "number" ? n : "" })}
        />
        <NumberInput
          label="Max tokens"
          placeholder="Model default"
          min={1}
          allowDecimal={false}
          thousandSeparator=","
          value={value.maxTokens}
          onChange={(n) => onChange({ maxTokens: typeof n === "number" ? n : "" })}
        />
      </Group>
      <Switch
        label="JSON mode"
        checked={value.json}
        onChange={(event) => onChange({ json: event.currentTarget.checked })}
      />
      <Textarea
        label="Tools"
        description="JSON array of tool definitions in the OpenAI format"
        placeholder={exampleTool}
        autosize
        minRows={2}
        maxRows={12}
        styles={{
          input: {
            fontFamily: "var(--mantine-font-family-monospace)",
            fontSize: "var(--mantine-font-size-xs)",
          },
        }}
        value={value.tools}
        onChange={(event) => onChange({ tools: event.currentTarget.value })}
        error={toolsProblem(value.tools)}
      />
    </Stack>
  );
}
