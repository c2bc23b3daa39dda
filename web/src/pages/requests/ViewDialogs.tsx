import { ActionIcon, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { deleteView, type SavedView, saveView } from "../../api/views";
import { ErrorPanel } from "../../components/ErrorPanel";
import { Icon } from "../../components/Icon";

interface SaveProps {
  placeholder: string;
  description: string;
  /** Saves the view under a name. */
  save: (name: string) => Promise<SavedView>;
  onSaved: (view: SavedView) => Promise<void>;
}

/** Asks for the name of a new view and saves it. */
export function SaveViewForm({ placeholder, description, save: saveAs, onSaved }: SaveProps) {
  const [name, setName] = useState("");
  const save = useMutation({
    mutationFn: () => saveAs(name.trim()),
    onSuccess: onSaved,
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Stack gap="sm">
        <TextInput
          label="Name"
          placeholder={placeholder}
          description={description}
          required
          maxLength={80}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
        {save.error && <ErrorPanel what="Could not save the view" error={save.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={save.isPending} disabled={name.trim() === ""}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Renames and deletes saved views. */
export function ManageViews({ views, onChanged }: { views: SavedView[]; onChanged: () => Promise<void> }) {
  return (
    <Stack gap="xs">
      {views.map((view) => (
        <ViewItem key={view.id} view={view} onChanged={onChanged} />
      ))}
      {views.length === 0 && <Text size="sm">No saved views</Text>}
    </Stack>
  );
}

function ViewItem({ view, onChanged }: { view: SavedView; onChanged: () => Promise<void> }) {
  const [name, setName] = useState(view.name);
  const [sure, setSure] = useState(false);
  const rename = useMutation({
    mutationFn: () => {
      const { filters, columns, sort } = view;
      return saveView({ name: name.trim(), filters, columns, sort }, view.id);
    },
    onSuccess: onChanged,
  });
  const remove = useMutation({ mutationFn: () => deleteView(view.id), onSuccess: onChanged });
  const error = rename.error ?? remove.error;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        rename.mutate();
      }}
    >
      <Group gap="xs" wrap="nowrap">
        <TextInput
          flex={1}
          size="xs"
          aria-label={`New name for ${view.name}`}
          maxLength={80}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button
          type="submit"
          size="xs"
          variant="default"
          loading={rename.isPending}
          disabled={name.trim() === "" || name.trim() === view.name}
        >
          Rename
        </Button>
        {sure ? (
          <Button size="xs" color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
            Delete for everyone
          </Button>
        ) : (
          <ActionIcon
            variant="default"
            size={30}
            aria-label={`Delete ${view.name}`}
            onClick={() => setSure(true)}
          >
            <Icon name="trash" size={14} />
          </ActionIcon>
        )}
      </Group>
      {error && <ErrorPanel what="Could not change the view" error={error} />}
    </form>
  );
}
