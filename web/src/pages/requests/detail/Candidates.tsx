import { Table, Text, Tooltip } from "@mantine/core";

import type { Schema } from "../../../api/client";
import { Icon } from "../../../components/Icon";
import { Money } from "../../../components/Money";
import { formatCount, formatDuration } from "../../../lib/numbers";
import classes from "./detail.module.css";
import { Differs } from "./Differs";
import { candidateDiffers, qualityText, resultOf } from "./trace";

type Decision = Schema["Decision"];
type Candidate = Schema["Candidate"];

interface Props {
  trace: Decision;
  attempts: Schema["AttemptView"][];
  against?: Decision;
  name?: string;
}

const columns: [label: string, hint: string][] = [
  ["Predicted quality", "Predicted probability of a good response, with one standard deviation"],
  ["Expected cost", "Estimated cost of this prompt, including cached input and a response of typical length"],
  ["Cached input", "Prompt tokens expected to be in the provider’s cache"],
  ["Expected latency", "Estimated time until the response is complete"],
];

/** All considered targets: ranked, or excluded with a reason. */
export function Candidates({ trace, attempts, against, name }: Props) {
  const eligible = trace.candidates.filter((c) => !c.excluded);
  const excluded = trace.candidates.filter((c) => c.excluded);
  return (
    <div
      className={classes.scroll}
      tabIndex={0}
      role="region"
      aria-label={name ? `Candidates: ${name}` : "Candidates"}
    >
      <Table fz="sm" verticalSpacing={4} horizontalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            {["#", "Model", "Provider"].map((word) => (
              <Table.Th key={word}>{word}</Table.Th>
            ))}
            {columns.map(([label, hint]) => (
              <Table.Th key={label} ta="right">
                <Tooltip label={hint}>
                  <span tabIndex={0}>{label}</span>
                </Tooltip>
              </Table.Th>
            ))}
            <Table.Th>Result</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {eligible.map((c) => (
            <Eligible
              key={c.target}
              candidate={c}
              attempts={attempts}
              differs={candidateDiffers(c, against)}
            />
          ))}
          {excluded.map((c) => (
            <Excluded key={c.target} candidate={c} differs={candidateDiffers(c, against)} />
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

interface EligibleProps {
  candidate: Candidate;
  attempts: Schema["AttemptView"][];
  differs: boolean;
}

function Eligible({ candidate: c, attempts, differs }: EligibleProps) {
  const result = resultOf(c, attempts);
  return (
    <Table.Tr fw={c.rank === 1 ? 600 : undefined} className={differs ? classes.differs : undefined}>
      <Table.Td>{c.rank}</Table.Td>
      <Table.Td className={classes.model}>
        {c.model}
        {c.effort && (
          <Text size="xs" c="dimmed" span>
            {` · effort ${c.effort}`}
          </Text>
        )}
        {differs && <Differs />}
      </Table.Td>
      <Table.Td>{c.provider}</Table.Td>
      <Figure text={qualityText(c)} />
      <Table.Td ta="right">
        <Money amount={c.expected_cost_usd} paid />
      </Table.Td>
      <Figure text={c.cached_prefix?.read ? formatCount(c.cached_prefix.read) : "–"} />
      <Figure text={formatDuration(c.expected_ms || null)} />
      <Table.Td className={classes.nowrap}>
        <Text size="xs" c="dimmed" span>
          {result}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}

function Excluded({ candidate: c, differs }: { candidate: Candidate; differs: boolean }) {
  return (
    <Table.Tr c="dimmed" className={differs ? classes.differs : undefined}>
      <Table.Td>–</Table.Td>
      <Table.Td className={classes.model}>
        {c.model}
        {differs && <Differs />}
      </Table.Td>
      <Table.Td>{c.provider}</Table.Td>
      <Table.Td colSpan={5}>
        <Tooltip label={c.excluded?.code}>
          <span>
            <Icon name="ban" size={12} /> Excluded: {c.excluded?.reason}
          </span>
        </Tooltip>
      </Table.Td>
    </Table.Tr>
  );
}

function Figure({ text }: { text: string }) {
  return (
    <Table.Td ta="right" ff="monospace" className={classes.nowrap}>
      {text}
    </Table.Td>
  );
}
