import {
  Badge,
  Button,
  Checkbox,
  Group,
  Popover,
  ScrollArea,
  Stack,
  Text,
  TextInput,
  UnstyledButton,
} from "@mantine/core";
import { lazy, type ReactNode, Suspense, useState } from "react";

import type { Schema } from "../api/client";
import {
  chipsOf,
  type FilterName,
  type Filters,
  filterLabels,
  joinList,
  splitList,
  without,
} from "../lib/filters";
import { formatCount } from "../lib/numbers";
import { usePhone } from "../lib/usePhone";
import { Icon } from "./Icon";
import { useOnce } from "../lib/useOnce";

// The drawer is used only on phones, so it is loaded when it is first opened.
const FilterDrawer = lazy(() => import("./FilterDrawer"));

/** Filters with a list of values. */
export type FacetName = keyof Schema["Facets"];

interface Props {
  filters: Filters;
  facets?: Schema["Facets"];
  /** The facets to offer, in order. */
  names: FacetName[];
  /** Receives only the changed filters; undefined removes one. */
  onChange: (change: Filters) => void;
  onClear: () => void;
  /** Controls before the facets, such as the time range. */
  before?: ReactNode;
  /** Filters after the facets. */
  more?: ReactNode;
  /** Display names of values, such as key names. */
  labels?: Partial<Record<FilterName, Record<string, string>>>;
  /** Label of the button that closes the sheet. */
  done?: string;
}

/** Selects filters and shows the active ones as chips. On narrow screens the filters are in a sheet. */
export function FilterBar(props: Props) {
  const phone = usePhone();
  const [opened, setOpened] = useState(false);
  const drawerUsed = useOnce(phone && opened);
  const chips = chipsOf(props.filters);
  const facets = props.names.map((name) => <FacetMenu key={name} name={name} {...props} inline={phone} />);
  return (
    <Stack gap={6} mb="sm">
      <Group gap="xs">
        {props.before}
        {phone ? (
          <Button
            variant="default"
            size="xs"
            leftSection={<Icon name="filter" size={14} />}
            onClick={() => setOpened(true)}
          >
            Filters{chips.length > 0 && ` (${chips.length})`}
          </Button>
        ) : (
          <>
            {facets}
            {props.more}
          </>
        )}
      </Group>
      {chips.length > 0 && <Chips {...props} />}
      {drawerUsed && (
        <Suspense>
          <FilterDrawer opened={phone && opened} onClose={() => setOpened(false)}>
            {facets}
            {props.more}
            <Button onClick={() => setOpened(false)}>{props.done ?? "Show requests"}</Button>
          </FilterDrawer>
        </Suspense>
      )}
    </Stack>
  );
}

function Chips({ filters, onChange, onClear, facets, labels }: Props) {
  return (
    <Group gap={6} aria-label="Active filters" role="group">
      {chipsOf(filters).map(({ name, value }) => {
        const label =
          labels?.[name]?.[value] ??
          (facets && name in facets
            ? facets[name as FacetName].find((f) => f.value === value)?.label
            : undefined) ??
          value;
        return (
          <Badge
            key={name + value}
            color="cyan"
            radius="sm"
            size="lg"
            fw={500}
            rightSection={
              <UnstyledButton
                aria-label={`Remove filter ${filterLabels[name]}: ${label}`}
                onClick={() => onChange({ [name]: without(filters, name, value)[name] })}
                lh={0}
              >
                <Icon name="x" size={12} />
              </UnstyledButton>
            }
          >
            {filterLabels[name]}: {label}
          </Badge>
        );
      })}
      <Button variant="subtle" size="compact-xs" onClick={onClear}>
        Clear filters
      </Button>
    </Group>
  );
}

function FacetMenu({
  name,
  filters,
  facets,
  onChange,
  inline,
}: Props & { name: FacetName; inline: boolean }) {
  const chosen = splitList(filters[name]);
  const list = (
    <FacetList
      name={name}
      values={facets?.[name] ?? []}
      chosen={chosen}
      onChange={(values) => onChange({ [name]: joinList(values) })}
    />
  );
  if (inline) {
    return (
      <div>
        <Text size="sm" fw={600} mb={4} tt="capitalize">
          {filterLabels[name]}
        </Text>
        {list}
      </div>
    );
  }
  return (
    <Popover position="bottom-start" shadow="md" trapFocus>
      <Popover.Target>
        <Button
          variant={chosen.length > 0 ? "outline" : "default"}
          size="xs"
          rightSection={<Icon name="chevronDown" size={12} />}
          tt="capitalize"
        >
          {filterLabels[name]}
          {chosen.length > 0 && ` · ${chosen.length}`}
        </Button>
      </Popover.Target>
      <Popover.Dropdown p="xs" miw={240}>
        {list}
      </Popover.Dropdown>
    </Popover>
  );
}

interface ListProps {
  name: FacetName;
  values: Schema["Facet"][];
  chosen: string[];
  onChange: (values: string[]) => void;
}

function FacetList({ name, values, chosen, onChange }: ListProps) {
  const [search, setSearch] = useState("");
  const listed = new Set(values.map((v) => v.value));
  const all = [
    ...values,
    ...chosen.filter((v) => !listed.has(v)).map((v) => ({ value: v, label: v, count: null })),
  ];
  const shown = all.filter((v) => v.label.toLowerCase().includes(search.toLowerCase()));
  return (
    <Stack gap={6}>
      {all.length > 8 && (
        <TextInput
          size="xs"
          aria-label={`Search ${filterLabels[name]}`}
          placeholder="Search"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      <ScrollArea.Autosize mah={280} type="auto">
        <Checkbox.Group value={chosen} onChange={onChange} aria-label={filterLabels[name]}>
          <Stack gap={6} p={2}>
            {shown.map((v) => (
              <Checkbox
                key={v.value}
                size="xs"
                value={v.value}
                label={
                  <Group gap="xs" wrap="nowrap">
                    <span>{v.label}</span>
                    {v.count !== null && (
                      <Text span size="xs" c="dimmed" ff="monospace">
                        {formatCount(v.count)}
                      </Text>
                    )}
                  </Group>
                }
              />
            ))}
          </Stack>
        </Checkbox.Group>
        {shown.length === 0 && (
          <Text size="sm" c="dimmed">
            {all.length > 0 ? "No results" : "No values in this time range"}
          </Text>
        )}
      </ScrollArea.Autosize>
    </Stack>
  );
}
