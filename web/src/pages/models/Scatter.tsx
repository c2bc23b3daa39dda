import { Group, SegmentedControl, Select, Table, Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type KeyboardEvent, useRef, useState } from "react";

import { ChartPanel } from "../../components/charts/ChartPanel";
import { PageLink } from "../../components/PageLink";
import { formatMoney } from "../../lib/money";
import { formatCount, formatDuration, formatQuality, plural } from "../../lib/numbers";
import { taskLabel } from "../../lib/tasks";
import { useGo } from "../../lib/search";
import { formatListPrice } from "./models";
import {
  type Axis,
  type CatalogModel,
  frontier,
  labelsOf,
  logScale,
  neighbour,
  type Point,
  pointsOf,
  qualityScale,
  radiusOf,
} from "./scatter";
import classes from "./scatter.module.css";

const height = 300;
const margin = { left: 40, right: 20, top: 20, bottom: 40 };

interface Props {
  models: CatalogModel[];
  tasks: string[];
}

/** Models by price or speed and predicted quality. The area of a bubble is the traffic of the workspace. */
export function Scatter({ models, tasks }: Props) {
  const [axis, setAxis] = useState<Axis>("price");
  const [task, setTask] = useState("");
  const points = pointsOf(models, axis, task);
  return (
    <ChartPanel
      title={axis === "price" ? "Price and quality" : "Speed and quality"}
      legend={
        <Group gap="xs" mb={4}>
          <SegmentedControl
            size="xs"
            aria-label="Horizontal axis"
            value={axis}
            onChange={(value) => setAxis(value as Axis)}
            data={[
              { value: "price", label: "Price" },
              { value: "speed", label: "Speed" },
            ]}
          />
          <Select
            size="xs"
            w={190}
            aria-label="Task type"
            allowDeselect={false}
            value={task}
            data={[
              { value: "", label: "All tasks" },
              ...tasks.map((value) => ({ value, label: taskLabel(value) })),
            ]}
            onChange={(value) => setTask(value ?? "")}
          />
          <Text size="xs" c="dimmed">
            Filled: connected. Hollow: not connected. Size: your requests in 30 days. Line: best quality at
            each {axis === "price" ? "price" : "speed"}.
          </Text>
        </Group>
      }
      chart={
        points.length === 0 ? (
          <Text size="sm" c="dimmed" py="xl" ta="center">
            {axis === "speed"
              ? "Speeds appear here for models with requests in the last 30 days."
              : "No models with a known price and quality."}
          </Text>
        ) : (
          <Plot key={`${axis} ${task}`} points={points} axis={axis} />
        )
      }
      table={<PointTable points={points} />}
      note="Price: dollars per million tokens, with three input tokens for each output token. Quality: predicted by the router, from 0 to 1."
    />
  );
}

function Plot({ points, axis }: { points: Point[]; axis: Axis }) {
  const { ref, width } = useElementSize();
  return (
    <div ref={ref} className={classes.box}>
      {width > 0 && <Drawing points={points} axis={axis} width={width} />}
    </div>
  );
}

function Drawing({ points, axis, width }: { points: Point[]; axis: Axis; width: number }) {
  const go = useGo();
  const dots = useRef<(SVGCircleElement | null)[]>([]);
  const [current, setCurrent] = useState(0);
  const [active, setActive] = useState<number>();
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const x = logScale(
    points.map((p) => p.x),
    inner.width,
  );
  const y = qualityScale(
    points.map((p) => p.y),
    inner.height,
  );
  const most = Math.max(...points.map((p) => p.model.requests));
  const best = frontier(points);
  const open = (p: Point) => void go({ to: "/models/$name", params: { name: p.model.name } });
  const onKey = (event: KeyboardEvent, i: number) => {
    if (event.key === "Enter") {
      open(points[i] as Point);
      return;
    }
    const next = neighbour(points, i, event.key);
    if (next !== i) {
      event.preventDefault();
      setCurrent(next);
      dots.current[next]?.focus();
    }
  };
  const shown = points[active ?? -1];
  return (
    <>
      <svg
        width={width}
        height={height}
        role="group"
        aria-label="Models. Move with the arrow keys, open with Enter."
      >
        <g transform={`translate(${margin.left} ${margin.top})`}>
          {y.ticks.map((tick) => (
            <g key={tick}>
              <line x1={0} x2={inner.width} y1={y.at(tick)} y2={y.at(tick)} className={classes.grid} />
              <text
                x={-8}
                y={y.at(tick)}
                textAnchor="end"
                dominantBaseline="middle"
                className={classes.label}
              >
                {tick.toFixed(1)}
              </text>
            </g>
          ))}
          {x.ticks.map((tick) => (
            <g key={tick} transform={`translate(${x.at(tick)} 0)`}>
              <line y1={0} y2={inner.height} className={classes.grid} />
              <text y={inner.height + 16} textAnchor="middle" className={classes.label}>
                {axis === "price" ? formatListPrice(String(tick)) : formatDuration(tick)}
              </text>
            </g>
          ))}
          <text x={inner.width / 2} y={inner.height + 33} textAnchor="middle" className={classes.label}>
            {axis === "price" ? "Price per million tokens" : "Median time to first token"}
          </text>
          <text x={-margin.left} y={-8} className={classes.label}>
            Quality
          </text>
          <path d={steps(best, x.at, y.at, inner.width)} className={classes.frontier} />
          {points.map((p, i) => (
            <circle
              key={p.model.name}
              ref={(dot) => {
                dots.current[i] = dot;
              }}
              cx={x.at(p.x)}
              cy={y.at(p.y)}
              r={radiusOf(p.model.requests, most)}
              className={classes.dot}
              data-connected={p.model.connected || undefined}
              role="link"
              tabIndex={i === current ? 0 : -1}
              aria-label={pointText(p, axis)}
              onFocus={() => {
                setCurrent(i);
                setActive(i);
              }}
              onBlur={() => setActive(undefined)}
              onMouseEnter={() => setActive(i)}
              onMouseLeave={() => setActive(undefined)}
              onKeyDown={(event) => onKey(event, i)}
              onClick={() => open(p)}
            />
          ))}
          {labelsOf(points, best, x.at, y.at, inner.width).map(({ name, left, baseline }) => (
            <text key={name} x={left} y={baseline} className={classes.name} aria-hidden>
              {name}
            </text>
          ))}
        </g>
      </svg>
      <Text size="xs" className={classes.detail} aria-hidden>
        {shown ? pointText(shown, axis) : "Hover over a model, or use the arrow keys, to see its figures."}
      </Text>
    </>
  );
}

/** The path along the best models, as steps. */
function steps(best: Point[], x: (v: number) => number, y: (v: number) => number, width: number): string {
  const moves = best.map((p, i) => (i === 0 ? `M${x(p.x)},${y(p.y)}` : `H${x(p.x)}V${y(p.y)}`));
  return moves.length === 0 ? "" : `${moves.join("")}H${width}`;
}

/** A point in words. */
export function pointText({ model, x, y }: Point, axis: Axis): string {
  const value =
    axis === "price"
      ? `${formatListPrice(String(x))} per million tokens`
      : `first token after ${formatDuration(x)}`;
  const traffic =
    model.requests > 0
      ? `${plural(model.requests, "request")}, ${formatMoney(model.cost_usd)}`
      : "no requests";
  return `${model.name}: ${value}, quality ${formatQuality(y)}, ${traffic}${model.connected ? "" : ", not connected"}`;
}

function PointTable({ points }: { points: Point[] }) {
  return (
    <Table fz="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Model</Table.Th>
          {["Price / M", "Quality", "TTFT", "Requests (30 d)"].map((head) => (
            <Table.Th key={head} ta="right">
              {head}
            </Table.Th>
          ))}
          <Table.Th>Connected</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {points.map(({ model, y }) => (
          <Table.Tr key={model.name}>
            <Table.Td>
              <PageLink to="/models/$name" params={{ name: model.name }}>
                {model.name}
              </PageLink>
            </Table.Td>
            <Table.Td ta="right">
              {model.price ? formatListPrice(model.price.typical_per_mtok_usd) : "—"}
            </Table.Td>
            <Table.Td ta="right">{formatQuality(y)}</Table.Td>
            <Table.Td ta="right">{formatDuration(model.ttft_p50_ms)}</Table.Td>
            <Table.Td ta="right">{formatCount(model.requests)}</Table.Td>
            <Table.Td>{model.connected ? "yes" : "no"}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
