import { Box, NativeSelect, Tooltip, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { memo, type MouseEvent, useCallback, useEffect, useRef } from "react";

import type { Schema } from "../../api/client";
import { moveFocus } from "../../components/DataTable";
import { Icon } from "../../components/Icon";
import { PageLink } from "../../components/PageLink";
import { Time } from "../../components/Time";
import { useShortcuts } from "../../lib/keyboard";
import { formatPrice } from "../../lib/money";
import { formatLatency } from "../../lib/numbers";
import { usePhone } from "../../lib/usePhone";
import { Badges, minPromptWidth, promptColumn, PromptText, type RequestColumn, Served } from "./columns";
import classes from "./RequestTable.module.css";
import { type Sort, sortOptions } from "./sort";

type Row = Schema["RequestRow"];

interface Props {
  rows: Row[];
  columns: RequestColumn[];
  sort: Sort;
  onSort: (sort: Sort) => void;
  /** Opens a request beside the list. */
  onOpen: (id: string) => void;
  /** The id of the open request. */
  open: string | undefined;
  /** The ids of the requests that are selected for a comparison. */
  picked: string[];
  onPick: (id: string) => void;
  dense?: boolean;
  /** Whether to dim the rows, while new data loads. */
  dimmed?: boolean;
}

const checkWidth = 26;

/** The request list. Every row has one link, which covers the row. On narrow screens a row has two lines. */
export function RequestTable(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { ref: sizeRef, width } = useElementSize<HTMLDivElement>();
  const ref = useMergedRef(box, sizeRef);
  const phone = usePhone();
  const onOpen = useStable(props.onOpen);
  const onPick = useStable(props.onPick);
  useShortcuts([
    { keys: "j", label: "Next row", run: () => moveFocus(box.current, 1) },
    { keys: "k", label: "Previous row", run: () => moveFocus(box.current, -1) },
  ]);
  const minWidth = checkWidth + minPromptWidth + props.columns.reduce((sum, { width: w }) => sum + w, 0);
  return (
    <Box
      ref={ref}
      className={classes.box}
      opacity={props.dimmed ? 0.55 : 1}
      data-dense={props.dense || undefined}
      data-picking={props.picked.length > 0 || undefined}
      data-wide={(!phone && width > 0 && width < minWidth) || undefined}
    >
      {phone ? (
        <>
          <NativeSelect
            className={classes.phoneSort}
            size="xs"
            aria-label="Sort"
            data={sortOptions}
            value={props.sort}
            onChange={(event) => props.onSort(event.currentTarget.value as Sort)}
          />
          <div role="list" aria-label="Requests">
            {props.rows.map((row) => (
              <PhoneRow
                key={row.id}
                row={row}
                selected={row.id === props.open}
                picked={props.picked.includes(row.id)}
                onOpen={onOpen}
                onPick={onPick}
              />
            ))}
          </div>
        </>
      ) : (
        <table className={classes.table} aria-label="Requests" style={{ minWidth }}>
          <Head {...props} />
          <tbody>
            {props.rows.map((row) => (
              <WideRow
                key={row.id}
                row={row}
                columns={props.columns}
                selected={row.id === props.open}
                picked={props.picked.includes(row.id)}
                onOpen={onOpen}
                onPick={onPick}
              />
            ))}
          </tbody>
        </table>
      )}
    </Box>
  );
}

/** Returns a stable function that calls the latest version of run, so that rows are rendered only when they change. */
function useStable(run: (id: string) => void): (id: string) => void {
  const latest = useRef(run);
  useEffect(() => {
    latest.current = run;
  });
  return useCallback((id: string) => latest.current(id), []);
}

function Head({ columns, sort, onSort }: Pick<Props, "columns" | "sort" | "onSort">) {
  return (
    <>
      <colgroup>
        <col style={{ width: checkWidth }} />
        {columns.map(({ id, width }) => (
          <col key={id} style={width > 0 ? { width } : undefined} />
        ))}
      </colgroup>
      <thead>
        <tr>
          <th scope="col">
            <VisuallyHidden>Compare</VisuallyHidden>
          </th>
          {columns.map((column) => (
            <Heading key={column.id} column={column} sort={sort} onSort={onSort} />
          ))}
        </tr>
      </thead>
    </>
  );
}

function Heading({ column, sort, onSort }: { column: RequestColumn } & Pick<Props, "sort" | "onSort">) {
  const by = column.sort;
  const on = by === sort;
  const content = by ? (
    <UnstyledButton className={classes.sort} data-on={on || undefined} onClick={() => onSort(by)}>
      {column.label}
      <Icon name="chevronDown" size={11} />
    </UnstyledButton>
  ) : (
    <span>{column.label}</span>
  );
  return (
    <th scope="col" data-numeric={column.numeric || undefined} aria-sort={by && (on ? "descending" : "none")}>
      {column.hint ? <Tooltip label={column.hint}>{content}</Tooltip> : content}
    </th>
  );
}

interface RowProps {
  row: Row;
  columns: RequestColumn[];
  selected: boolean;
  picked: boolean;
  onOpen: (id: string) => void;
  onPick: (id: string) => void;
}

/** A plain click opens the request beside the list; with a modifier key the browser opens the page. */
function openInPlace(event: MouseEvent, open: () => void): void {
  if (event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    open();
  }
}

/** A short name of a request for screen readers. */
function nameOf(row: Row): string {
  return row.preview.slice(0, 80) || row.id;
}

function PlainRow({ row, columns, selected, picked, onOpen, onPick }: RowProps) {
  const elsewhere = (event: MouseEvent) => {
    // Cells with tooltips are above the link, so their clicks arrive here.
    if ((event.target as Element).closest("a, input, button") || window.getSelection()?.toString()) {
      return;
    }
    if (event.type === "auxclick" ? event.button === 1 : event.ctrlKey || event.metaKey) {
      window.open(`/requests/${row.id}`, "_blank", "noopener");
    } else if (event.type === "click") {
      onOpen(row.id);
    }
  };
  return (
    // The link in the row does the same for the keyboard.
    <tr
      className={classes.row}
      data-selected={selected || undefined}
      onClick={elsewhere}
      onAuxClick={elsewhere}
    >
      <td className={classes.check}>
        <input
          type="checkbox"
          aria-label={`Select for comparison: ${nameOf(row)}`}
          checked={picked}
          onChange={() => onPick(row.id)}
        />
      </td>
      {columns.map((column) =>
        column.id === promptColumn ? (
          <td key={column.id}>
            <div className={classes.prompt}>
              <PageLink
                to="/requests/$id"
                params={{ id: row.id }}
                className={classes.link}
                data-row
                data-selected={selected || undefined}
                onClick={(event) => openInPlace(event, () => onOpen(row.id))}
              >
                {column.render(row)}
              </PageLink>
              <span className={classes.above}>
                <Badges row={row} />
              </span>
            </div>
          </td>
        ) : (
          <td key={column.id} data-numeric={column.numeric || undefined}>
            <span className={classes.above}>{column.render(row)}</span>
          </td>
        ),
      )}
    </tr>
  );
}

// A live list has hundreds of rows and changes four times a second, so only changed rows are rendered again.
const WideRow = memo(
  PlainRow,
  (a, b) =>
    a.row === b.row &&
    a.selected === b.selected &&
    a.picked === b.picked &&
    a.columns.length === b.columns.length &&
    a.columns.every((column, i) => column === b.columns[i]),
);

function PhoneRow({ row, selected, picked, onOpen, onPick }: Omit<RowProps, "columns">) {
  return (
    <div role="listitem" className={classes.phoneItem}>
      <label className={classes.phoneCheck}>
        <input
          type="checkbox"
          aria-label={`Select for comparison: ${nameOf(row)}`}
          checked={picked}
          onChange={() => onPick(row.id)}
        />
      </label>
      <PageLink
        to="/requests/$id"
        params={{ id: row.id }}
        className={classes.phoneRow}
        data-row
        data-selected={selected || undefined}
        onClick={(event) => openInPlace(event, () => onOpen(row.id))}
      >
        <span className={classes.line}>
          <span className={classes.phonePrompt}>
            <PromptText row={row} />
          </span>
          <span className={classes.figure}>{formatPrice(row.cost_usd)}</span>
        </span>
        <span className={classes.line}>
          <span className={classes.phoneFacts}>
            <Badges row={row} />
            <Time at={row.time} as="brief" />
            <span>
              <Served row={row} />
              {row.simulated && " · SIMULATED"}
            </span>
          </span>
          <span className={classes.figure}>{formatLatency(row.latency_ms)}</span>
        </span>
      </PageLink>
    </div>
  );
}
