import { Button, Collapse, Group, Paper, Select, Text, Textarea, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { KeyboardEvent } from "react";

import { Icon } from "../../components/Icon";
import { type Fault, faults, type Parameters, parametersSummary, toolsProblem } from "./draft";
import { ParameterForm } from "./ParameterForm";

interface Props {
  prompt: string;
  onPrompt: (prompt: string) => void;
  parameters: Parameters;
  onParameters: (change: Partial<Parameters>) => void;
  /** Undefined when no simulated provider is in use. */
  fault: Fault | undefined;
  onFault: (fault: Fault) => void;
  /** Models that a fault can be limited to. */
  simulated: string[];
  running: boolean;
  onSend: () => void;
  onStop: () => void;
}

/** Where the prompt is written, with the folded parameters. */
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
        placeholder="Ask something"
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
            Enter sends · Shift+Enter new line
          </Text>
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
        description="The simulator plays it; real providers never do."
        placeholder="none"
        data={faults}
        clearable
        searchable
        value={fault.name || null}
        onChange={(name) => onFault({ ...fault, name: name ?? "" })}
        clearButtonProps={{ "aria-label": "No failure" }}
      />
      <Select
        size="xs"
        label="At"
        description="Others answer, so that a fallback shows."
        data={[
          { value: "", label: "every model" },
          ...simulated.map((name) => ({ value: name, label: `only ${name}` })),
        ]}
        allowDeselect={false}
        disabled={!fault.name}
        value={fault.model}
        onChange={(model) => onFault({ ...fault, model: model ?? "" })}
      />
    </Group>
  );
}
