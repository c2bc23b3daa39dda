import { Anchor, Box, Button, Group, List, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, must, type Schema } from "../../api/client";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { type Column, DataTable } from "../../components/DataTable";
import { ErrorPanel } from "../../components/ErrorPanel";
import { RowsSkeleton } from "../../components/Loading";
import { PageHeader } from "../../components/PageHeader";
import { PageLink } from "../../components/PageLink";
import { Section } from "../../components/Section";
import { Time } from "../../components/Time";
import { formatPrice } from "../../lib/money";
import { notifyDone } from "../../lib/notify";
import { formatQuality, plural } from "../../lib/numbers";
import {
  dialText,
  effortText,
  pinned,
  type Route,
  type RouteDraft,
  routeDraft,
  routesQuery,
  shareText,
} from "./draft";
import { RouteDialog } from "./RouteDialog";

type Entry = Schema["PoolEntry"];

/** The routes: their pools, what is left out, and how the default pool changed. */
export function RoutesPage() {
  const { data, error, refetch } = useQuery(routesQuery);
  const [draft, setDraft] = useState<RouteDraft>();
  const [removing, setRemoving] = useState<Route>();
  return (
    <>
      <PageHeader
        title="Routes"
        description="A request asks for a route instead of a model. The router chooses a model of the pool for it."
        actions={data?.editable && <Button onClick={() => setDraft(routeDraft())}>Add route</Button>}
      />
      {error && <ErrorPanel what="Could not load routes" error={error} onRetry={() => void refetch()} />}
      {!data && !error && <RowsSkeleton rows={6} />}
      {data?.routes.map((route) => (
        <RouteSection
          key={route.name}
          route={route}
          editable={data.editable && route.source !== "instance"}
          onEdit={setDraft}
          onRemove={setRemoving}
        />
      ))}
      {data && <LeftOut left={data.left} />}
      {data && data.changes.length > 0 && (
        <Section title="Recent changes of the default pool">
          <List size="sm" listStyleType="none">
            {data.changes.map((change) => (
              <List.Item key={`${change.at} ${change.reason}`}>
                <Time at={change.at} /> {change.reason}
              </List.Item>
            ))}
          </List>
        </Section>
      )}
      {data && <RouteDialog draft={draft} list={data} onClose={() => setDraft(undefined)} />}
      <RemoveRoute route={removing} onClose={() => setRemoving(undefined)} />
    </>
  );
}

interface RouteProps {
  route: Route;
  editable: boolean;
  onEdit: (draft: RouteDraft) => void;
  onRemove: (route: Route) => void;
}

function RouteSection({ route, editable, onEdit, onRemove }: RouteProps) {
  const facts = [dialText(route.tradeoff), effortText(route), ...route.shares.map(shareText)].filter(Boolean);
  return (
    <Section
      title={route.name}
      actions={
        editable && (
          <>
            {!route.pinned && (
              <Button
                size="xs"
                variant="default"
                aria-label={`Pin pool of ${route.name}`}
                onClick={() => onEdit(pinned(route))}
              >
                Pin pool
              </Button>
            )}
            <Button
              size="xs"
              variant="default"
              aria-label={`Edit ${route.name}`}
              onClick={() => onEdit(routeDraft(route))}
            >
              Edit
            </Button>
            {route.source === "workspace" && (
              <Button
                size="xs"
                variant="default"
                aria-label={`${route.name === "auto" ? "Reset" : "Delete"} ${route.name}`}
                onClick={() => onRemove(route)}
              >
                {route.name === "auto" ? "Reset" : "Delete"}
              </Button>
            )}
          </>
        )
      }
    >
      <Stack gap={4} mb="xs">
        <Text size="sm">{facts.join(" · ")}</Text>
        <Text size="sm" c="dimmed">
          {route.pinned
            ? "The pool is pinned and does not change by itself."
            : "Default pool: computed again when accounts, prices or models change."}
          {route.source === "instance" && " Defined in the configuration file."}
        </Text>
        {route.missing.length > 0 && (
          <Text size="sm">Not in this pool, but in the default pool: {route.missing.join(", ")}.</Text>
        )}
      </Stack>
      {route.pool.length === 0 ? (
        <Text size="sm">
          No connected account offers a model with a price.{" "}
          <Anchor component={PageLink} to="/providers" inherit>
            Connect a provider
          </Anchor>
        </Text>
      ) : (
        <DataTable
          label={`Pool of ${route.name}`}
          rows={route.pool}
          columns={columns}
          rowKey={(entry) => entry.model}
          phone={(entry) => ({
            top: (
              <>
                <ModelLink entry={entry} />
                <Text span inherit size="xs" style={{ whiteSpace: "nowrap" }}>
                  {formatPrice(entry.input_per_mtok_usd)} / {formatPrice(entry.output_per_mtok_usd)}
                </Text>
              </>
            ),
            bottom: (
              <Text span inherit size="xs" c="dimmed">
                {formatQuality(entry.quality)} · {entry.why}
              </Text>
            ),
          })}
        />
      )}
    </Section>
  );
}

function ModelLink({ entry }: { entry: Entry }) {
  return (
    <Anchor component={PageLink} to="/models/$name" params={{ name: entry.model }} inherit>
      {entry.model}
    </Anchor>
  );
}

const columns: Column<Entry>[] = [
  { id: "model", label: "Model", maxWidth: 260, render: (entry) => <ModelLink entry={entry} /> },
  {
    id: "in",
    label: "Input",
    hint: "US dollars per million tokens",
    numeric: true,
    render: (entry) => formatPrice(entry.input_per_mtok_usd),
  },
  {
    id: "out",
    label: "Output",
    hint: "US dollars per million tokens",
    numeric: true,
    render: (entry) => formatPrice(entry.output_per_mtok_usd),
  },
  {
    id: "quality",
    label: "Quality",
    hint: "Predicted share of good answers for tasks of medium difficulty",
    numeric: true,
    render: (entry) => formatQuality(entry.quality),
  },
  { id: "released", label: "Released", render: (entry) => entry.released || "—" },
  { id: "why", label: "Why it is in the pool", render: (entry) => entry.why },
];

/** The models that are not in the default pool. Models without a price are never hidden. */
function LeftOut({ left }: { left: Schema["LeftModel"][] }) {
  const unpriced = left.filter((one) => one.unpriced);
  const others = left.filter((one) => !one.unpriced);
  if (left.length === 0) {
    return null;
  }
  const item = (one: Schema["LeftModel"]) => (
    <List.Item key={one.model}>
      <Anchor component={PageLink} to="/models/$name" params={{ name: one.model }} inherit>
        {one.model}
      </Anchor>
      : {one.unpriced ? "no price. Add a price on the page of the model." : one.reason}
    </List.Item>
  );
  return (
    <Section title="Not in the default pool">
      {unpriced.length > 0 && <List size="sm">{unpriced.map(item)}</List>}
      {others.length > 0 && (
        <Box component="details" mt="xs" fz="sm">
          <summary>Show {plural(others.length, "other model")}</summary>
          <List size="sm">{others.map(item)}</List>
        </Box>
      )}
    </Section>
  );
}

function RemoveRoute({ route, onClose }: { route: Route | undefined; onClose: () => void }) {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: (name: string) => must(api.DELETE("/routes/{name}", { params: { path: { name } } })),
    onSuccess: () => {
      notifyDone(route?.name === "auto" ? "Route reset." : "Route deleted.");
      onClose();
      return queryClient.invalidateQueries({ queryKey: ["routes"] });
    },
  });
  const auto = route?.name === "auto";
  return (
    <ConfirmDialog
      opened={route !== undefined}
      title={auto ? "Reset auto" : `Delete route “${route?.name ?? ""}”`}
      action={auto ? "Reset" : "Delete"}
      pending={remove.isPending}
      error={remove.error && <ErrorPanel what="Could not delete the route" error={remove.error} />}
      onConfirm={() => route && remove.mutate(route.name)}
      onClose={onClose}
    >
      <Group>
        {auto
          ? "auto gets the default pool and the balanced dial again."
          : "Requests that name this route will fail."}
      </Group>
    </ConfirmDialog>
  );
}
