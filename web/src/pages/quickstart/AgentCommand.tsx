import { NativeSelect, Stack } from "@mantine/core";
import { useState } from "react";

import { CodeBlock } from "../../components/CodeBlock";
import { agents, connectCommand } from "../../lib/agents";

/** The command that connects a coding agent to this gateway. */
export function AgentCommand({ baseUrl, secret }: { baseUrl: string; secret?: string }) {
  const [agent, setAgent] = useState("claude-code");
  return (
    <Stack gap="xs" mb="md">
      <NativeSelect
        label="Connect an agent"
        description="Run the command where the agent runs. It creates a key, changes the agent’s settings and sends one request. Add --undo to restore the settings."
        maw={520}
        data={agents}
        value={agent}
        onChange={(event) => setAgent(event.currentTarget.value)}
      />
      <CodeBlock text={connectCommand(agent, baseUrl, secret)} />
    </Stack>
  );
}
