import { Group, Input, SegmentedControl, Spoiler, Stack, Text, Textarea } from '@mantine/core';
import { IconPencil, IconTrash } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type IncidentNote, writeNoteSchema } from '@tocsin/contracts/incidents/timeline';
import { type FocusEvent, type KeyboardEvent, lazy, type ReactNode, Suspense, useRef, useState } from 'react';
import { api } from '../api/request.ts';
import { RowButton } from '../components/buttons.tsx';
import { ConfirmButton } from '../components/dialogs.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { SaveForm } from '../components/save-form.tsx';
import { Quiet } from '../components/text.tsx';
import { useCan, useMe } from '../session/session.ts';
import classes from './incident.module.css';

/** Loads the Markdown library with the first note. */
const NoteText = lazy(async () => ({ default: (await import('./markdown.tsx')).NoteText }));

interface NoteFormProps {
  readonly text: string;
  readonly label: string;
  readonly action: string;
  readonly save: (text: string) => Promise<unknown>;
  readonly onCancel?: () => void;
  /** Focuses the field, so that the user can continue typing. */
  readonly isFocused?: boolean;
}

/** Ctrl+Enter and ⌘+Enter. */
function submitOnKeys(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

function NoteForm({ text, label, action, save, onCancel, isFocused = false }: NoteFormProps): ReactNode {
  const [view, setView] = useState('write');
  const form = useApiForm({
    initialValues: { text },
    validate: (values) => bodyErrors(writeNoteSchema, values),
  });
  const written = form.getValues().text;
  return (
    <SaveForm
      form={form}
      action={action}
      save={(values) => save(values.text)}
      {...(onCancel && { onCancel })}
    >
      <Stack gap="xs">
        <Group justify="space-between">
          <Text size="sm" fw={500}>
            {label}
          </Text>
          <SegmentedControl
            size="xs"
            aria-label="View of the note"
            data={[
              { value: 'write', label: 'Write' },
              { value: 'preview', label: 'Preview' },
            ]}
            value={view}
            onChange={setView}
          />
        </Group>
        {view === 'preview' ? (
          <div className={classes['preview']}>
            {written.trim() === '' ? <Quiet>Nothing to preview.</Quiet> : <Note text={written} />}
            <Input.Error>{form.errors['text']}</Input.Error>
          </div>
        ) : (
          <Textarea
            aria-label={label}
            placeholder="What you found, tried or decided"
            autosize
            minRows={3}
            maxRows={16}
            // oxlint-disable-next-line jsx-a11y/no-autofocus -- after "Edit" and after a saved note, people go on typing
            autoFocus={isFocused}
            onKeyDown={submitOnKeys}
            {...form.getInputProps('text')}
          />
        )}
        <Quiet size="xs">Markdown. Ctrl+Enter or ⌘+Enter saves.</Quiet>
      </Stack>
    </SaveForm>
  );
}

function Note({ text }: { readonly text: string }): ReactNode {
  return (
    <Suspense fallback={<Quiet style={{ whiteSpace: 'pre-wrap' }}>{text}</Quiet>}>
      <NoteText text={text} />
    </Suspense>
  );
}

/** About 20 lines. */
const MAX_HEIGHT = 430;

/** A long note is folded. Screen readers read all of it, and it opens when a link in it gets the focus. */
function FoldedNote({ text }: { readonly text: string }): ReactNode {
  const [isOpened, setOpened] = useState(false);
  const control = useRef<HTMLButtonElement>(null);
  const onFocus = ({ target }: FocusEvent): void => {
    if (target.matches(':focus-visible')) setOpened(true);
  };
  const onToggle = (opened: boolean): void => {
    setOpened(opened);
    // After rendering, the button may be above the viewport.
    if (!opened) setTimeout(() => control.current?.scrollIntoView({ block: 'nearest' }));
  };
  return (
    <Spoiler
      className={classes['noteText'] ?? ''}
      maxHeight={MAX_HEIGHT}
      showLabel="Show all"
      hideLabel="Show less"
      transitionDuration={0}
      controlRef={control}
      expanded={isOpened}
      onExpandedChange={onToggle}
    >
      <div onFocus={onFocus}>
        <Note text={text} />
      </div>
    </Spoiler>
  );
}

interface OfIncidentProps {
  readonly incidentId: string;
}

/** @returns a function that reloads the timeline */
function useReload({ incidentId }: OfIncidentProps): () => Promise<void> {
  const queryClient = useQueryClient();
  return () => queryClient.invalidateQueries({ queryKey: ['incidents', 'timeline', incidentId] });
}

export function NoteComposer({ incidentId }: OfIncidentProps): ReactNode {
  const reload = useReload({ incidentId });
  // Each note gets a new form.
  const [count, setCount] = useState(0);
  const add = async (text: string): Promise<void> => {
    await api('POST /api/dashboard/incidents/:id/notes', { id: incidentId, body: { text } });
    await reload();
    setCount(count + 1);
  };
  return <NoteForm key={count} text="" label="New note" action="Add note" save={add} isFocused={count > 0} />;
}

interface NoteItemProps extends OfIncidentProps {
  readonly note: IncidentNote;
}

const ENDPOINT = '/api/dashboard/incidents/:id/notes/:noteId';

export function NoteItem({ incidentId, note }: NoteItemProps): ReactNode {
  const { user } = useMe();
  const can = useCan();
  const reload = useReload({ incidentId });
  const [isEdited, setIsEdited] = useState(false);
  const isMine = can.change && note.author.id === user.id;
  const request = { id: incidentId, path: { noteId: note.id } };
  const edit = async (text: string): Promise<void> => {
    await api(`PATCH ${ENDPOINT}`, { ...request, body: { text } });
    await reload();
    setIsEdited(false);
  };
  const remove = async (): Promise<void> => {
    await api(`DELETE ${ENDPOINT}`, request);
    await reload();
  };
  if (isEdited)
    return (
      <NoteForm
        text={note.text}
        label="Edit note"
        action="Save"
        save={edit}
        onCancel={() => setIsEdited(false)}
        isFocused
      />
    );
  return (
    <div className={classes['note']}>
      <FoldedNote text={note.text} />
      {(isMine || can.manage) && (
        <Group gap={4} className={classes['noteActions'] ?? ''}>
          {isMine && (
            <RowButton icon={IconPencil} hint="Edit" label="Edit note" onClick={() => setIsEdited(true)} />
          )}
          <ConfirmButton
            button={{ icon: IconTrash, hint: 'Delete', label: 'Delete note' }}
            title="Delete this note?"
            action="Delete"
            onConfirm={remove}
          >
            The note of {note.author.name} cannot be restored.
          </ConfirmButton>
        </Group>
      )}
    </div>
  );
}
