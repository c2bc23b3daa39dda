import {
  Button,
  Collapse,
  Group,
  NumberInput,
  Paper,
  Select,
  Text,
  Textarea,
  Tooltip,
  UnstyledButton,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { KeyboardEvent } from "react";

import { Icon } from "../../components/Icon";
import { type Fault, faults, type Parameters, parametersSummary, toolsProblem } from "./draft";
import { ParameterForm } from "./ParameterForm";
import { maxRepeats } from "./spread";

interface Props {
  prompt: string;
  onPrompt: (prompt: string) => void;
  parameters: Parameters;
  onParameters: (change: Partial<Parameters>) => void;
  /** Undefined when no simulated provider is in use. */
  fault: Fault | undefined;
  onFault: (fault: Fault) => void;
  /** Simulated models, to which a fault can be limited. */
  simulated: string[];
  /** Number of responses per model; empty while it is being typed. */
  repeats: number | "";
  onRepeats: (repeats: number | "") => void;
  running: boolean;
  onSend: () => void;
  onStop: () => void;
}

/** The prompt input with collapsed parameters. */
export function Composer(props: Props) {
  const [opened, { toggle }] = useDisclosure();
  const ready = props.prompt.trim() !== "" && !props.running && !toolsProblem(props.parameters.tools);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      if (ready) {
        props.onSend();
      }
    }
  };
  return (
    <Paper withBorder p="sm">
      <Textarea
        aria-label="Prompt"
        placeholder="Send a message"
        autosize
        minRows={2}
        maxRows={12}
        value={props.prompt}
        onChange={(event) => props.onPrompt(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <Group justify="space-between" mt="xs" gap="xs" align="flex-end">
        <UnstyledButton onClick={toggle} aria-expanded={opened} aria-controls="parameters">
          <Group gap={6} wrap="nowrap">
            <Icon name={opened ? "chevronDown" : "chevronRight"} size={14} />
            <Text size="sm" fw={600}>
              Parameters
            </Text>
            <Text size="xs" c="dimmed">
              {parametersSummary(props.parameters)}
            </Text>
          </Group>
        </UnstyledButton>
        <Group gap="xs">
          <Text size="xs" c="dimmed" visibleFrom="sm">
            Enter to send · Shift+Enter for a new line
          </Text>
          <Tooltip label={`Send the prompt up to ${maxRepeats} times to each model`}>
            <NumberInput
              aria-label="Repeats"
              w={72}
              min={1}
              max={maxRepeats}
              prefix="×"
              allowDecimal={false}
              value={props.repeats}
              onChange={(n) => props.onRepeats(typeof n === "number" ? n : "")}
            />
          </Tooltip>
          {props.running ? (
            <Button
              color="red"
              variant="outline"
              leftSection={<Icon name="stop" size={14} />}
              onClick={props.onStop}
            >
              Stop
            </Button>
          ) : (
            <Button leftSection={<Icon name="play" size={14} />} disabled={!ready} onClick={props.onSend}>
              Send
            </Button>
          )}
        </Group>
      </Group>
      <Collapse expanded={opened} id="parameters">
        <div style={{ paddingTop: 12 }}>
          <ParameterForm value={props.parameters} onChange={props.onParameters} />
        </div>
      </Collapse>
      {props.fault && <FaultFields {...props} fault={props.fault} />}
    </Paper>
  );
}

function FaultFields({ fault, onFault, simulated }: Props & { fault: Fault }) {
  return (
    <Group mt="sm" gap="xs" align="flex-end" grow preventGrowOverflow={false}>
      <Select
        size="xs"
        label="Inject a failure"
        description="Simulated models only"
        placeholder="None"
        data={faults}
        clearable
        searchable
        value={fault.name || null}
        onChange={(name) => onFault({ ...fault, name: name ?? "" })}
        clearButtonProps={{ "aria-label": "Clear simulated failure" }}
      />
      <Select
        size="xs"
        label="Affected models"
        description="Choose a single model to trigger a fallback"
        data={[
          { value: "", label: "All models" },
          ...simulated.map((name) => ({ value: name, label: `Only ${name}` })),
        ]}
        allowDeselect={false}
        disabled={!fault.name}
        value={fault.model}
        onChange={(model) => onFault({ ...fault, model: model ?? "" })}
      />
    </Group>
  );
}
