import { Box, Table, Tooltip, UnstyledButton, VisuallyHidden } from "@mantine/core";
import {
  type KeyboardEvent,
  memo,
  type MouseEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useRef,
  useState,
} from "react";

import { useShortcuts } from "../lib/keyboard";
import { usePhone } from "../lib/usePhone";
import classes from "./DataTable.module.css";
import { Icon } from "./Icon";
import { type Order, sorted, turned } from "./order";

/** One column of a table. */
export interface Column<R> {
  id: string;
  label: string;
  render: (row: R) => ReactNode;
  /** Right-aligned and monospaced. */
  numeric?: boolean;
  /** What the column means, on hover of its heading. */
  hint?: string;
  /** What the column is sorted by; without it the column cannot be sorted. Unknown values come last either way. */
  sort?: (row: R) => number | string | null | undefined;
  /** Widest the cell may be, in pixels; longer text is cut. */
  maxWidth?: number;
}

interface Props<R> {
  /** What the table lists, for screen readers. */
  label: string;
  rows: R[];
  columns: Column<R>[];
  rowKey: (row: R) => string;
  /** Two lines instead of a row on narrow screens: what is most important above. */
  phone: (row: R) => { top: ReactNode; bottom: ReactNode };
  /** Opens a row; apart is set when the person asked for a page of its own (Ctrl or ⌘). */
  onOpen?: (row: R, apart: boolean) => void;
  /** The key of the row that is open. */
  selected?: string;
  dense?: boolean;
  /** Old data while new ones load. */
  dimmed?: boolean;
}

/** A table of rows that the keyboard can walk (j, k, Enter). On narrow screens each row becomes two lines. */
export function DataTable<R>(props: Props<R>) {
  const box = useRef<HTMLDivElement>(null);
  const phone = usePhone();
  const onOpen = useSteady(props.onOpen);
  const [order, setOrder] = useState<Order>();
  const rows = sorted(props.rows, props.columns, order);
  useShortcuts(
    props.onOpen
      ? [
          { keys: "j", label: "Next row", run: () => walk(box.current, 1) },
          { keys: "k", label: "Previous row", run: () => walk(box.current, -1) },
        ]
      : [],
  );
  return (
    <Box
      ref={box}
      opacity={props.dimmed ? 0.55 : 1}
      className={classes.box}
      data-dense={props.dense || undefined}
    >
      {phone ? (
        <PhoneRows {...props} onOpen={onOpen} />
      ) : (
        <WideRows {...props} rows={rows} onOpen={onOpen} order={order} onOrder={setOrder} />
      )}
    </Box>
  );
}

type Open<R> = NonNullable<Props<R>["onOpen"]>;

/** The same function at every render, which calls the latest one. */
function useSteady<R>(onOpen: Open<R> | undefined): Open<R> | undefined {
  const latest = useRef(onOpen);
  useEffect(() => {
    latest.current = onOpen;
  });
  const steady = useCallback<Open<R>>((row, apart) => latest.current?.(row, apart), []);
  return onOpen && steady;
}

/** Moves the focus to another row, from the focused or the open one. */
function walk(box: HTMLElement | null, step: number): void {
  const rows = [...(box?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const marked = rows.findIndex((row) => row.dataset["selected"] !== undefined);
  const from = at >= 0 ? at : marked;
  const next = rows[from < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, from + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** What makes an element a row that opens with a click or Enter. */
function opener<R>(row: R, selected: boolean, onOpen: Open<R> | undefined) {
  const marks = { "data-row": true, "data-selected": selected || undefined };
  if (!onOpen) {
    return marks;
  }
  return {
    ...marks,
    tabIndex: 0,
    onClick: (event: MouseEvent) => {
      // A click that ends a selection of text, or that is meant for a control, does not open the row.
      const inner = (event.target as Element).closest("a, button, input, label, [role=menuitem]");
      if (!inner && !window.getSelection()?.toString()) {
        onOpen(row, event.ctrlKey || event.metaKey);
      }
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === "Enter" && event.target === event.currentTarget) {
        onOpen(row, event.ctrlKey || event.metaKey);
      }
    },
  };
}

interface OrderProps {
  order: Order | undefined;
  onOrder: (order: Order | undefined) => void;
}

function WideRows<R>(props: Props<R> & OrderProps) {
  return (
    <Box className={classes.scroll} tabIndex={0} role="region" aria-label={props.label}>
      <Table
        highlightOnHover={props.onOpen !== undefined}
        aria-label={props.label}
        fz="inherit"
        verticalSpacing={props.dense ? 2 : 6}
        horizontalSpacing={5}
      >
        <Table.Thead>
          <Table.Tr>
            {props.columns.map((column) => (
              <Heading key={column.id} column={column} order={props.order} onOrder={props.onOrder} />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {props.rows.map((row) => (
            <WideRow
              key={props.rowKey(row)}
              row={row}
              columns={props.columns}
              selected={props.rowKey(row) === props.selected}
              onOpen={props.onOpen}
            />
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}

function Heading<R>({ column, order, onOrder }: { column: Column<R> } & OrderProps) {
  const way = order?.column === column.id ? order.way : undefined;
  const label = column.label || <VisuallyHidden>{column.id}</VisuallyHidden>;
  const content = column.sort ? (
    <UnstyledButton className={classes.sort} data-on={way} onClick={() => onOrder(turned(column, order))}>
      {label}
      <Icon name={way === "up" ? "chevronUp" : "chevronDown"} size={11} />
    </UnstyledButton>
  ) : (
    <span>{label}</span>
  );
  return (
    <Table.Th
      scope="col"
      className={column.numeric ? classes.numberHead : classes.head}
      aria-sort={way && (way === "up" ? "ascending" : "descending")}
    >
      {column.hint ? <Tooltip label={column.hint}>{content}</Tooltip> : content}
    </Table.Th>
  );
}

interface RowProps<R> {
  row: R;
  columns: Column<R>[];
  selected: boolean;
  onOpen: Open<R> | undefined;
}

function PlainRow<R>({ row, columns, selected, onOpen }: RowProps<R>) {
  return (
    <Table.Tr className={classes.row} {...opener(row, selected, onOpen)}>
      {columns.map((column) => (
        <Table.Td
          key={column.id}
          className={column.numeric ? classes.number : classes.cell}
          maw={column.maxWidth}
        >
          {column.render(row)}
        </Table.Td>
      ))}
    </Table.Tr>
  );
}

// A live list has hundreds of rows and changes four times a second: a row is drawn again only when it changed itself.
const WideRow = memo(
  PlainRow,
  (a, b) =>
    a.row === b.row &&
    a.selected === b.selected &&
    a.onOpen === b.onOpen &&
    a.columns.length === b.columns.length &&
    a.columns.every((column, i) => column === b.columns[i]),
) as typeof PlainRow;

function PhoneRows<R>(props: Props<R>) {
  return (
    <Box role="list" aria-label={props.label}>
      {props.rows.map((row) => {
        const { top, bottom } = props.phone(row);
        return (
          <Box key={props.rowKey(row)} role="listitem">
            <Box
              className={classes.phoneRow}
              {...opener(row, props.rowKey(row) === props.selected, props.onOpen)}
              {...(props.onOpen ? { role: "button" } : {})}
            >
              <div className={classes.line}>{top}</div>
              <div className={classes.line}>{bottom}</div>
            </Box>
          </Box>
        );
      })}
    </Box>
  );
}
