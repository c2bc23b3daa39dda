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
import { nextOrder, type Order, sorted } from "./order";

/** One column of a table. */
export interface Column<R> {
  id: string;
  label: string;
  render: (row: R) => ReactNode;
  /** Whether the column is right-aligned and monospaced. */
  numeric?: boolean;
  /** Explanation of the column, shown on hover. */
  hint?: string;
  /** Sort key of a row; without it the column is not sortable. Unknown values come last in both directions. */
  sort?: (row: R) => number | string | null | undefined;
  /** Maximum width in pixels; longer text is truncated. */
  maxWidth?: number;
}

interface Props<R> {
  /** Name of the table, for screen readers. */
  label: string;
  rows: R[];
  columns: Column<R>[];
  rowKey: (row: R) => string;
  /** The two lines that replace a row on narrow screens. */
  phone: (row: R) => { top: ReactNode; bottom: ReactNode };
  /** Opens a row; asPage is set when Ctrl or ⌘ was held. */
  onOpen?: (row: R, asPage: boolean) => void;
  /** The key of the row that is open. */
  selected?: string;
  dense?: boolean;
  /** Whether to dim the rows, while new data loads. */
  dimmed?: boolean;
  /** Maximum number of rows, taken after sorting. */
  limit?: number;
}

/** A table with keyboard navigation (j, k, Enter). On narrow screens each row becomes two lines. */
export function DataTable<R>(props: Props<R>) {
  const box = useRef<HTMLDivElement>(null);
  const phone = usePhone();
  const onOpen = useStable(props.onOpen);
  const [order, setOrder] = useState<Order>();
  const rows = sorted(props.rows, props.columns, order).slice(0, props.limit);
  useShortcuts(
    props.onOpen
      ? [
          { keys: "j", label: "Next row", run: () => moveFocus(box.current, 1) },
          { keys: "k", label: "Previous row", run: () => moveFocus(box.current, -1) },
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
        <PhoneRows {...props} rows={props.rows.slice(0, props.limit)} onOpen={onOpen} />
      ) : (
        <WideRows {...props} rows={rows} onOpen={onOpen} order={order} onOrder={setOrder} />
      )}
    </Box>
  );
}

type Open<R> = NonNullable<Props<R>["onOpen"]>;

/** Returns a stable function that calls the latest onOpen. */
function useStable<R>(onOpen: Open<R> | undefined): Open<R> | undefined {
  const latest = useRef(onOpen);
  useEffect(() => {
    latest.current = onOpen;
  });
  const stable = useCallback<Open<R>>((row, asPage) => latest.current?.(row, asPage), []);
  return onOpen && stable;
}

/** Moves the focus by a number of rows, starting at the focused or the open row. */
export function moveFocus(box: HTMLElement | null, step: number): void {
  const rows = [...(box?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const marked = rows.findIndex((row) => row.dataset["selected"] !== undefined);
  const from = at >= 0 ? at : marked;
  const next = rows[from < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, from + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** Props of a row that opens with a click or Enter. */
function rowProps<R>(row: R, selected: boolean, onOpen: Open<R> | undefined) {
  const marks = { "data-row": true, "data-selected": selected || undefined };
  if (!onOpen) {
    return marks;
  }
  return {
    ...marks,
    tabIndex: 0,
    onClick: (event: MouseEvent) => {
      // A click on a control, or a click that ends a text selection, does not open the row.
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
  const direction = order?.column === column.id ? order.direction : undefined;
  const label = column.label || <VisuallyHidden>{column.id}</VisuallyHidden>;
  const content = column.sort ? (
    <UnstyledButton
      className={classes.sort}
      data-on={direction}
      onClick={() => onOrder(nextOrder(column, order))}
    >
      {label}
      <Icon name={direction === "ascending" ? "chevronUp" : "chevronDown"} size={11} />
    </UnstyledButton>
  ) : (
    <span>{label}</span>
  );
  return (
    <Table.Th
      scope="col"
      className={column.numeric ? classes.numberHead : classes.head}
      aria-sort={direction}
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
    <Table.Tr className={classes.row} {...rowProps(row, selected, onOpen)}>
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

// A live list has hundreds of rows and changes four times a second, so only changed rows are rendered again.
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
              {...rowProps(row, props.rowKey(row) === props.selected, props.onOpen)}
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
