import { Alert, Button, Group, Paper, Select, SimpleGrid, Stack, Text, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { keysQuery } from "../../api/queries";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { Trace } from "../requests/detail/Trace";
import classes from "./policies.module.css";
import { endpointOf, readBody, samples } from "./samples";

interface Props {
  /** A body to begin with. */
  start?: string;
}

const tradeoffs = [
  { value: "", label: "As the body says" },
  { value: "0", label: "0 – cheapest" },
  { value: "0.25", label: "0.25" },
  { value: "0.5", label: "0.5 – balanced" },
  { value: "0.75", label: "0.75" },
  { value: "1", label: "1 – best" },
];

/** Decides on a body without sending it anywhere, and shows the whole trace. */
export function DryRun({ start }: Props) {
  const [text, setText] = useState(start ?? JSON.stringify(samples[0]?.body, null, 2));
  const [sample, setSample] = useState<string | null>(start ? null : (samples[0]?.id ?? null));
  const [key, setKey] = useState("");
  const [tradeoff, setTradeoff] = useState("");
  const keys = useQuery(keysQuery);
  const explain = useExplain();
  const read = readBody(text);
  const error = explain.error ? asApiError(explain.error) : undefined;
  const choose = (id: string | null) => {
    const found = samples.find((s) => s.id === id);
    if (found) {
      setSample(id);
      setText(JSON.stringify(found.body, null, 2));
      explain.reset();
    }
  };
  return (
    <div className={classes.sides}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (read.body) {
            explain.mutate({ body: read.body, key, tradeoff });
          }
        }}
      >
        <Stack gap="sm">
          <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="xs">
            <Select
              label="Sample"
              placeholder="your own"
              data={samples.map(({ id, label }) => ({ value: id, label }))}
              value={sample}
              onChange={choose}
            />
            <Select
              label="Rules of the key"
              data={[{ value: "", label: "none" }, ...usable(keys.data?.keys)]}
              allowDeselect={false}
              value={key}
              onChange={(value) => setKey(value ?? "")}
            />
            <Select
              label="Trade-off"
              data={tradeoffs}
              allowDeselect={false}
              value={tradeoff}
              onChange={(value) => setTradeoff(value ?? "")}
            />
          </SimpleGrid>
          <Textarea
            label="Body"
            description="As a client would send it to chat/completions or embeddings."
            autosize
            minRows={10}
            maxRows={24}
            spellCheck={false}
            styles={{
              input: {
                fontFamily: "var(--mantine-font-family-monospace)",
                fontSize: "var(--mantine-font-size-xs)",
              },
            }}
            value={text}
            onChange={(event) => {
              setText(event.currentTarget.value);
              setSample(null);
            }}
            error={read.problem ?? bodyProblem(error)}
          />
          <Group>
            <Button
              type="submit"
              leftSection={<Icon name="route" size={14} />}
              disabled={!read.body}
              loading={explain.isPending}
            >
              Decide
            </Button>
            <Text size="xs" c="dimmed">
              Nothing is sent to a provider, logged or paid for.
            </Text>
          </Group>
        </Stack>
      </form>
      <div aria-live="polite">
        {error && !bodyProblem(error) && <ErrorPanel what="It could not be decided" error={error} />}
        {explain.data ? (
          <Stack gap="sm">
            {explain.data.refusal && <Refusal refusal={explain.data.refusal} />}
            {explain.data.decision && (
              <Trace
                trace={{ ...explain.data.decision, candidates: explain.data.decision.candidates ?? [] }}
              />
            )}
          </Stack>
        ) : (
          !error && (
            <Paper withBorder p="md">
              <Text size="sm" c="dimmed">
                The trace appears here: what the router sees in the body, every candidate with its score or
                the reason why it is out, the choice, the runner-up, and the baseline.
              </Text>
            </Paper>
          )
        )}
      </div>
    </div>
  );
}

function useExplain() {
  return useMutation({
    mutationFn: ({ body, key, tradeoff }: { body: object; key: string; tradeoff: string }) =>
      must(
        api.POST("/routing/explain", {
          body: {
            endpoint: endpointOf(body),
            key_id: key || undefined,
            tradeoff: tradeoff || undefined,
            request: body as never,
          },
        }),
      ),
  });
}

/** The keys that can still be used, as choices. */
function usable(keys: Schema["KeyView"][] | undefined): { value: string; label: string }[] {
  return (keys ?? [])
    .filter((key) => key.state === "active")
    .map((key) => ({ value: key.id, label: key.name }));
}

/** What the gateway says about the body, to be shown at its field. */
function bodyProblem(error: ReturnType<typeof asApiError> | undefined): string | undefined {
  return error?.code === "INVALID_REQUEST" || error?.code === "INVALID_JSON" ? error.message : undefined;
}

function Refusal({ refusal }: { refusal: Schema["Failure"] }) {
  return (
    <Alert color="red" variant="outline" icon={<Icon name="ban" size={18} />} title="It would be refused">
      <Text size="sm">{refusal.message}</Text>
      <Text size="xs" c="dimmed" mt={4}>
        {refusal.code} · {refusal.origin}
      </Text>
    </Alert>
  );
}
