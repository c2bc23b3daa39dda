import { Alert, Code, ScrollArea, Text } from "@mantine/core";

import changelog from "../../../../CHANGELOG.md?raw";
import { Icon } from "../../components/Icon";
import { releasesBetween } from "../../lib/changelog";
import classes from "./whatsnew.module.css";

interface Props {
  /** The release that was seen last. */
  after: string;
  release: string;
  onClose: () => void;
  /** The changelog; that of this build by default. */
  text?: string;
}

/** A note with the changes of one or more releases. */
export default function Changes({ after, release, onClose, text = changelog }: Props) {
  const releases = releasesBetween(text, after, release);
  if (releases.length === 0) {
    return null;
  }
  return (
    <Alert
      color="blue"
      variant="outline"
      mb="md"
      py="xs"
      role="region"
      title={`What’s new in ${release}`}
      icon={<Icon name="rocket" />}
      withCloseButton
      closeButtonLabel="Dismiss what’s new"
      onClose={onClose}
    >
      <ScrollArea.Autosize mah={180} type="auto" viewportProps={{ tabIndex: 0, "aria-label": "Changes" }}>
        {releases.map(({ version, changes }) => (
          <div key={version}>
            {releases.length > 1 && (
              <Text size="sm" fw={600}>
                {version}
              </Text>
            )}
            <ul className={classes.changes}>
              {changes.map((change) => (
                <li key={change}>
                  <Inline text={change} />
                </li>
              ))}
            </ul>
          </div>
        ))}
      </ScrollArea.Autosize>
    </Alert>
  );
}

/** Text with code between backquotes; links keep their text. */
function Inline({ text }: { text: string }) {
  const plain = text.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1").replace(/\*\*/g, "");
  return plain
    .split("`")
    .map((part, i) => (i % 2 === 1 ? <Code key={i}>{part}</Code> : <span key={i}>{part}</span>));
}
