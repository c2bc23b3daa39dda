import { Anchor, List, Text } from "@mantine/core";

import { PageLink } from "../../components/PageLink";

/** The policies in their order. This version has none, so it says what bounds routing until then. */
export function PolicyList() {
  return (
    <>
      <Text size="sm" mb="xs" maw={760}>
        Policies – ordered rules that pin, prefer, exclude or refuse models – come with a later version. Until
        then these bound what the router may choose:
      </Text>
      <List size="sm" spacing={4} maw={760}>
        <List.Item>
          the models that a key allows, under{" "}
          <Anchor component={PageLink} to="/settings/keys" size="sm" underline="always">
            API keys
          </Anchor>
          ;
        </List.Item>
        <List.Item>
          providers that are switched off, under{" "}
          <Anchor component={PageLink} to="/providers" size="sm" underline="always">
            Providers
          </Anchor>
          ;
        </List.Item>
        <List.Item>
          what a request asks for: <code>models</code> (fallbacks in order) and <code>provider</code> (order,
          only, ignore, max_price, data_collection, zdr).
        </List.Item>
      </List>
    </>
  );
}
