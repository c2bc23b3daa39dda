import { Tabs } from "@mantine/core";

import { type Call, environment, languages, snippet } from "../lib/snippets";
import { CodeBlock } from "./CodeBlock";

/** A call as code in every language, with copy buttons. */
export function Snippets({ call, withEnvironment }: { call: Call; withEnvironment?: boolean }) {
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List>
        {languages.map((language) => (
          <Tabs.Tab key={language.id} value={language.id}>
            {language.label}
          </Tabs.Tab>
        ))}
        {withEnvironment && <Tabs.Tab value="environment">Environment variables</Tabs.Tab>}
      </Tabs.List>
      {languages.map((language) => (
        <Tabs.Panel key={language.id} value={language.id} pt="xs">
          <CodeBlock text={snippet(language.id, call)} maxHeight={420} />
        </Tabs.Panel>
      ))}
      {withEnvironment && (
        <Tabs.Panel value="environment" pt="xs">
          <CodeBlock text={environment(call)} />
        </Tabs.Panel>
      )}
    </Tabs>
  );
}
