import { Button, Group, SegmentedControl, Select, SimpleGrid, Stack, Text, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { asApiError } from "../../api/errors";
import { keysQuery } from "../../api/queries";
import { type Trial, tryPolicies } from "../../api/routing";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";
import { formatRowTime } from "../../lib/time";
import { useZone } from "../../lib/preferences";
import { endpointOf, readBody, samples } from "./samples";
import { RecentResult, TrialResult } from "./TrialResult";

interface Props {
  /** The draft as YAML. */
  source: string;
  /** Whether the draft differs from the active policies. */
  changed: boolean;
  /** Whether the draft is valid. */
  ready: boolean;
  /** Initial request body. */
  start?: string;
}

type InputKind = "text" | "logged" | "recent";

const tradeoffs = [
  { value: "", label: "From the request body" },
  { value: "0", label: "0 – cheapest" },
  { value: "0.25", label: "0.25" },
  { value: "0.5", label: "0.5 – balanced" },
  { value: "0.75", label: "0.75" },
  { value: "1", label: "1 – best" },
];

/** Routes a request with the draft and with the active policies and shows the differences. No provider is called. */
export function DryRun({ source, changed, ready, start }: Props) {
  const [kind, setKind] = useState<InputKind>("text");
  const [text, setText] = useState(start ?? JSON.stringify(samples[0]?.body, null, 2));
  const [sample, setSample] = useState<string | null>(start ? null : (samples[0]?.id ?? null));
  const [key, setKey] = useState("");
  const [tradeoff, setTradeoff] = useState("");
  const [logged, setLogged] = useState<string | null>(null);
  const dryRun = useMutation({
    mutationFn: (trial: Omit<Trial, "source">) => tryPolicies({ source, ...trial }),
  });
  const read = readBody(text);
  const error = dryRun.error ? asApiError(dryRun.error) : undefined;
  const trial = trialOf({ kind, body: read.body, key, tradeoff, logged });
  // Wraps a setter so that a change also clears the last result.
  const resetting = <T,>(set: (value: T) => void) => {
    return (value: T) => {
      dryRun.reset();
      set(value);
    };
  };
  return (
    <Stack gap="sm">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (trial) {
            dryRun.mutate(trial);
          }
        }}
      >
        <Stack gap="sm">
          <SegmentedControl
            size="xs"
            fullWidth
            aria-label="Input"
            value={kind}
            onChange={resetting((next) => setKind(next as InputKind))}
            data={[
              { value: "text", label: "Prompt or body" },
              { value: "logged", label: "Logged request" },
              { value: "recent", label: "Recent traffic" },
            ]}
          />
          {kind === "text" && (
            <>
              <Select
                size="xs"
                label="Sample"
                placeholder="Custom"
                data={samples.map(({ id, label }) => ({ value: id, label }))}
                value={sample}
                onChange={resetting((id) => {
                  const found = samples.find((s) => s.id === id);
                  if (found) {
                    setSample(id);
                    setText(JSON.stringify(found.body, null, 2));
                  }
                })}
              />
              <Body
                text={text}
                problem={read.problem ?? bodyProblem(error)}
                onChange={resetting((next) => {
                  setText(next);
                  setSample(null);
                })}
              />
              <KeyAndTradeoff
                keyId={key}
                tradeoff={tradeoff}
                onKey={resetting(setKey)}
                onTradeoff={resetting(setTradeoff)}
              />
            </>
          )}
          {kind === "logged" && <LoggedRequest value={logged} onChange={resetting(setLogged)} />}
          {kind === "recent" && (
            <Text size="sm">
              Re-runs the newest 200 requests of the last 30 days with the draft and with the current
              policies.
            </Text>
          )}
          <Group gap="sm">
            <Button
              size="xs"
              type="submit"
              leftSection={<Icon name="route" size={14} />}
              disabled={!trial || !ready}
              loading={dryRun.isPending}
            >
              Run
            </Button>
            <Text size="xs" c="dimmed">
              {ready
                ? "No provider is called and nothing is logged."
                : "The draft has errors. Fix them first."}
            </Text>
          </Group>
        </Stack>
      </form>
      <div aria-live="polite">
        {error && !bodyProblem(error) && <ErrorPanel what="Dry run failed" error={error} />}
        {dryRun.data?.trials.map((result, i) => (
          <TrialResult key={i} trial={result} changed={changed} />
        ))}
        {dryRun.data?.recent && <RecentResult report={dryRun.data.recent} changed={changed} />}
      </div>
    </Stack>
  );
}

interface TrialInput {
  kind: InputKind;
  body: object | undefined;
  key: string;
  tradeoff: string;
  logged: string | null;
}

/** The request to the gateway; undefined while the input is incomplete. */
function trialOf({ kind, body, key, tradeoff, logged }: TrialInput): Omit<Trial, "source"> | undefined {
  const endpoint = "chat/completions"; // required by the API, used only with a body
  switch (kind) {
    case "text":
      return (
        body && {
          endpoint: endpointOf(body),
          key_id: key || undefined,
          tradeoff: tradeoff || undefined,
          request: body as never,
        }
      );
    case "logged":
      return logged ? { endpoint, request_ids: [logged] } : undefined;
    case "recent":
      return { endpoint, recent: 200 };
  }
}

function Body({
  text,
  problem,
  onChange,
}: {
  text: string;
  problem?: string;
  onChange: (text: string) => void;
}) {
  return (
    <Textarea
      size="xs"
      label="Prompt or body"
      description="A JSON request body or a plain prompt"
      autosize
      minRows={6}
      maxRows={16}
      spellCheck={false}
      styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
      value={text}
      error={problem}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface KeyAndTradeoffProps {
  keyId: string;
  tradeoff: string;
  onKey: (id: string) => void;
  onTradeoff: (tradeoff: string) => void;
}

function KeyAndTradeoff({ keyId, tradeoff, onKey, onTradeoff }: KeyAndTradeoffProps) {
  const keys = useQuery(keysQuery);
  return (
    <SimpleGrid cols={2} spacing="xs">
      <Select
        size="xs"
        label="API key"
        data={[{ value: "", label: "None" }, ...activeKeys(keys.data?.keys)]}
        allowDeselect={false}
        value={keyId}
        onChange={(value) => onKey(value ?? "")}
      />
      <Select
        size="xs"
        label="Trade-off"
        data={tradeoffs}
        allowDeselect={false}
        value={tradeoff}
        onChange={(value) => onTradeoff(value ?? "")}
      />
    </SimpleGrid>
  );
}

/** Selects one of the newest logged requests. */
function LoggedRequest({ value, onChange }: { value: string | null; onChange: (id: string | null) => void }) {
  const [zone] = useZone();
  const { data, error } = useQuery({
    queryKey: ["requests", "recent"],
    queryFn: () => must(api.GET("/requests", { params: { query: { limit: 30, from: "now-7d" } } })),
  });
  if (error) {
    return <ErrorPanel what="Could not load requests" error={error} />;
  }
  return (
    <Select
      size="xs"
      label="Request"
      description="Routes the logged request again with today’s models and prices"
      placeholder="Choose a request"
      searchable
      nothingFoundMessage={data ? "No requests in the last 7 days" : "Loading…"}
      data={(data?.requests ?? [])
        .filter((row) => row.state === "done")
        .map((row) => ({
          value: row.id,
          label: `${formatRowTime(row.time, zone)} · ${row.requested_model} → ${row.model ?? "not served"} · ${row.preview || row.id}`,
        }))}
      value={value}
      onChange={onChange}
    />
  );
}

/** The active keys as options. */
function activeKeys(keys: Schema["KeyView"][] | undefined): { value: string; label: string }[] {
  return (keys ?? [])
    .filter((key) => key.state === "active")
    .map((key) => ({ value: key.id, label: key.name }));
}

/** The gateway's error about the body, shown at its field. */
function bodyProblem(error: ReturnType<typeof asApiError> | undefined): string | undefined {
  return error?.code === "INVALID_REQUEST" || error?.code === "INVALID_JSON" ? error.message : undefined;
}
