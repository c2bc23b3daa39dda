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
  /** The draft as text. */
  source: string;
  /** Whether the draft says something else than what is in force. */
  changed: boolean;
  /** Whether the draft can be tried: it has no problems. */
  ready: boolean;
  /** A body to begin with. */
  start?: string;
}

type Way = "text" | "logged" | "recent";

const tradeoffs = [
  { value: "", label: "As the body says" },
  { value: "0", label: "0 – cheapest" },
  { value: "0.25", label: "0.25" },
  { value: "0.5", label: "0.5 – balanced" },
  { value: "0.75", label: "0.75" },
  { value: "1", label: "1 – best" },
];

/** Decides on a request under the draft and under what is in force, and shows what differs. No provider is called. */
export function DryRun({ source, changed, ready, start }: Props) {
  const [way, setWay] = useState<Way>("text");
  const [text, setText] = useState(start ?? JSON.stringify(samples[0]?.body, null, 2));
  const [sample, setSample] = useState<string | null>(start ? null : (samples[0]?.id ?? null));
  const [key, setKey] = useState("");
  const [tradeoff, setTradeoff] = useState("");
  const [logged, setLogged] = useState<string | null>(null);
  const attempt = useMutation({
    mutationFn: (trial: Omit<Trial, "source">) => tryPolicies({ source, ...trial }),
  });
  const read = readBody(text);
  const error = attempt.error ? asApiError(attempt.error) : undefined;
  const asked = askedOf({ way, body: read.body, key, tradeoff, logged });
  const again = <T,>(set: (value: T) => void) => {
    return (value: T) => {
      attempt.reset();
      set(value);
    };
  };
  return (
    <Stack gap="sm">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (asked) {
            attempt.mutate(asked);
          }
        }}
      >
        <Stack gap="sm">
          <SegmentedControl
            size="xs"
            fullWidth
            aria-label="What to decide on"
            value={way}
            onChange={again((next) => setWay(next as Way))}
            data={[
              { value: "text", label: "Prompt or body" },
              { value: "logged", label: "Logged request" },
              { value: "recent", label: "Recent traffic" },
            ]}
          />
          {way === "text" && (
            <>
              <Select
                size="xs"
                label="Sample"
                placeholder="your own"
                data={samples.map(({ id, label }) => ({ value: id, label }))}
                value={sample}
                onChange={again((id) => {
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
                onChange={again((next) => {
                  setText(next);
                  setSample(null);
                })}
              />
              <Rules keyId={key} tradeoff={tradeoff} onKey={again(setKey)} onTradeoff={again(setTradeoff)} />
            </>
          )}
          {way === "logged" && <Logged value={logged} onChange={again(setLogged)} />}
          {way === "recent" && (
            <Text size="sm">
              The newest 200 requests of the last 30 days are decided again, under the draft and under what is
              in force.
            </Text>
          )}
          <Group gap="sm">
            <Button
              size="xs"
              type="submit"
              leftSection={<Icon name="route" size={14} />}
              disabled={!asked || !ready}
              loading={attempt.isPending}
            >
              Decide
            </Button>
            <Text size="xs" c="dimmed">
              {ready
                ? "No provider is called; nothing is logged."
                : "The draft has problems: solve them first."}
            </Text>
          </Group>
        </Stack>
      </form>
      <div aria-live="polite">
        {error && !bodyProblem(error) && <ErrorPanel what="It could not be decided" error={error} />}
        {attempt.data?.trials.map((trial, i) => (
          <TrialResult key={i} trial={trial} changed={changed} />
        ))}
        {attempt.data?.recent && <RecentResult report={attempt.data.recent} changed={changed} />}
      </div>
    </Stack>
  );
}

interface Asked {
  way: Way;
  body: object | undefined;
  key: string;
  tradeoff: string;
  logged: string | null;
}

/** What is asked of the gateway; undefined while something is missing. */
function askedOf({ way, body, key, tradeoff, logged }: Asked): Omit<Trial, "source"> | undefined {
  const endpoint = "chat/completions"; // of the body only
  switch (way) {
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
      description="A body as a client would send it, or a plain prompt."
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

interface RulesProps {
  keyId: string;
  tradeoff: string;
  onKey: (id: string) => void;
  onTradeoff: (tradeoff: string) => void;
}

function Rules({ keyId, tradeoff, onKey, onTradeoff }: RulesProps) {
  const keys = useQuery(keysQuery);
  return (
    <SimpleGrid cols={2} spacing="xs">
      <Select
        size="xs"
        label="Rules of the key"
        data={[{ value: "", label: "none" }, ...usable(keys.data?.keys)]}
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

/** Chooses one of the newest requests of the log. */
function Logged({ value, onChange }: { value: string | null; onChange: (id: string | null) => void }) {
  const [zone] = useZone();
  const { data, error } = useQuery({
    queryKey: ["requests", "recent"],
    queryFn: () => must(api.GET("/requests", { params: { query: { limit: 30, from: "now-7d" } } })),
  });
  if (error) {
    return <ErrorPanel what="The requests could not be loaded" error={error} />;
  }
  return (
    <Select
      size="xs"
      label="Request"
      description="Decided by what was seen of it then, at the models and prices of today."
      placeholder="Choose one of the newest"
      searchable
      nothingFoundMessage={data ? "No request in the last 7 days." : "Loading…"}
      data={(data?.requests ?? [])
        .filter((row) => row.state === "done")
        .map((row) => ({
          value: row.id,
          label: `${formatRowTime(row.time, zone)} · ${row.requested_model} → ${row.model ?? "nobody"} · ${row.preview || row.id}`,
        }))}
      value={value}
      onChange={onChange}
    />
  );
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
