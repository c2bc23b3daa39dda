import { Text, Tooltip } from "@mantine/core";

import type { Schema } from "../api/client";
import { formatCount } from "../lib/numbers";

/** Input and output tokens with the cached share; all token classes on hover. single omits the cached share. */
export function Tokens({ tokens, single }: { tokens: Schema["Tokens"]; single?: boolean }) {
  const input = tokens.input + tokens.cache_read + tokens.cache_write;
  const cached = input > 0 ? Math.round((100 * tokens.cache_read) / input) : 0;
  return (
    <Tooltip label={<Classes tokens={tokens} />}>
      <Text span inherit ff="monospace">
        {tokens.estimated && "≈ "}
        {formatCount(input)}/{formatCount(tokens.output)}
        {cached > 0 && !single && (
          <Text component="span" display="block" fz="0.85em" c="dimmed" ff="monospace">
            {cached} % cached
          </Text>
        )}
      </Text>
    </Tooltip>
  );
}

function Classes({ tokens }: { tokens: Schema["Tokens"] }) {
  const rows: [string, number][] = [
    ["Uncached input", tokens.input],
    ["Cache read", tokens.cache_read],
    ["Cache write", tokens.cache_write],
    ["Output", tokens.output],
    ["Reasoning (part of output)", tokens.reasoning],
  ];
  if (tokens.searches > 0) {
    rows.push(["Web searches", tokens.searches]);
  }
  return (
    <>
      {rows.map(([label, n]) => (
        <div key={label}>
          {label}: {formatCount(n)}
        </div>
      ))}
      {tokens.estimated && <div>Estimated: the provider reported no usage.</div>}
    </>
  );
}
