import { ActionIcon, Button, Group, Stack, Text, Textarea, Tooltip } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schema } from "../../../api/client";
import { rateRequest, requestFeedbackQuery } from "../../../api/routing";
import { ErrorPanel } from "../../../components/ErrorPanel";
import { Icon } from "../../../components/Icon";
import { Time } from "../../../components/Time";
import { useSession } from "../../../lib/session";

type RatingView = Schema["RatingView"];

/** The ratings of a response and thumbs to rate it. Ratings improve the quality prediction. */
export function Rating({ request }: { request: Schema["RequestDetail"] }) {
  const { may } = useSession();
  const { data } = useQuery(requestFeedbackQuery(request.id));
  const queryClient = useQueryClient();
  const rate = useMutation({
    mutationFn: (rating: { score: number; comment?: string }) => rateRequest(request.id, rating),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: requestFeedbackQuery(request.id).queryKey }),
  });
  const ratings = data?.ratings ?? [];
  const mine = ratings.find((rating) => rating.mine);
  if (request.model === null || (!may("use_playground") && ratings.length === 0)) {
    return null;
  }
  return (
    <Stack gap={6} mt="md" role="group" aria-label="Rating">
      {may("use_playground") && (
        <Thumbs
          score={mine?.score}
          pending={rate.isPending}
          onRate={(score) => rate.mutate({ score, comment: mine?.comment ?? undefined })}
        />
      )}
      {mine && (
        <Comment
          key={mine.comment}
          mine={mine}
          onSave={(comment) => rate.mutate({ score: mine.score, comment })}
        />
      )}
      <Others ratings={ratings.filter((rating) => rating !== mine)} />
      {rate.error && <ErrorPanel what="Could not save the rating" error={rate.error} />}
    </Stack>
  );
}

interface ThumbsProps {
  /** The caller's rating from 0 to 1, if there is one. */
  score: number | undefined;
  pending: boolean;
  onRate: (score: number) => void;
  /** Whether to show only the thumbs and the rating. */
  short?: boolean;
}

/** Two buttons that rate a response. */
export function Thumbs({ score: mine, pending, onRate, short }: ThumbsProps) {
  const thumbs = [
    { score: 1, label: "Good response", icon: "thumbUp" as const, colour: "green" },
    { score: 0, label: "Bad response", icon: "thumbDown" as const, colour: "red" },
  ];
  return (
    <Group gap={6}>
      {!short && <Text size="sm">Was the response good?</Text>}
      {thumbs.map(({ score, label, icon, colour }) => {
        const active = mine !== undefined && (score === 1 ? mine >= 0.5 : mine < 0.5);
        return (
          <Tooltip key={label} label={label}>
            <ActionIcon
              size={short ? "sm" : undefined}
              variant={active ? "outline" : "default"}
              color={active ? colour : "gray"}
              aria-label={label}
              aria-pressed={active}
              disabled={pending}
              onClick={() => onRate(score)}
            >
              <Icon name={icon} size={short ? 13 : 16} />
            </ActionIcon>
          </Tooltip>
        );
      })}
      <Text size="xs" c="dimmed" role="status">
        {mine !== undefined
          ? `You rated this response ${mine >= 0.5 ? "good" : "bad"}.`
          : short
            ? ""
            : "Ratings improve routing."}
      </Text>
    </Group>
  );
}

function Comment({ mine, onSave }: { mine: RatingView; onSave: (comment: string) => void }) {
  const [text, setText] = useState(mine.comment ?? "");
  const [open, setOpen] = useState(false);
  if (!open) {
    return (
      <Group gap={6}>
        {mine.comment && (
          <Text size="sm" style={{ overflowWrap: "anywhere" }}>
            “{mine.comment}”
          </Text>
        )}
        <Button size="compact-xs" variant="subtle" onClick={() => setOpen(true)}>
          {mine.comment ? "Edit comment" : "Add comment"}
        </Button>
      </Group>
    );
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSave(text.trim());
        setOpen(false);
      }}
    >
      <Group gap="xs" align="flex-end" maw={640}>
        <Textarea
          size="xs"
          flex={1}
          label="Comment"
          autosize
          minRows={1}
          maxLength={500}
          autoFocus
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button size="xs" type="submit">
          Save
        </Button>
      </Group>
    </form>
  );
}

/** Ratings by others. */
function Others({ ratings }: { ratings: RatingView[] }) {
  return ratings.map((rating) => (
    <Text key={rating.id} size="xs" c="dimmed">
      {`Rated ${rating.label ?? (rating.score >= 0.5 ? "good" : "bad")} ${rating.source === "api" ? "through the API" : "by another user"}`}{" "}
      · <Time at={rating.at} as="age" />
      {rating.comment && `: “${rating.comment}”`}
    </Text>
  ));
}
