import { Button, Group, List, Modal, Paper, Progress, TagsInput, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconTags } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { FieldError } from '@tocsin/contracts/errors';
import { labelKeyProblem } from '@tocsin/contracts/labels/labels';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { type ReactNode, useEffect, useState } from 'react';
import { IconButton } from '../../components/buttons.tsx';
import { useApiForm } from '../../components/form.ts';
import { formatCount } from '../../components/format.ts';
import { ScrollRegion } from '../../components/page.tsx';
import { SaveForm } from '../../components/save-form.tsx';
import { Quiet } from '../../components/text.tsx';
import { findLabelError, keysOf, toLabels } from '../../labels/label-text.ts';
import { monitorsQuery } from '../queries.ts';
import classes from './bulk-labels.module.css';
import { monitorAccess, type RelabelFailure, relabelMonitors } from './relabel-monitors.ts';

interface BulkLabelsProps {
  /** The monitors that the filters show. */
  readonly shownIds: readonly string[];
  readonly selected: ReadonlySet<string>;
  /** @param selected null: the user is done */
  readonly onChange: (selected: ReadonlySet<string> | null) => void;
}

/** The bar at the bottom of the screen while monitors are selected. */
export function BulkLabels({ shownIds, selected, onChange }: BulkLabelsProps): ReactNode {
  const [opened, { open, close }] = useDisclosure();
  const { data = [] } = useQuery(monitorsQuery);
  const monitors = data.filter(({ id }) => selected.has(id));
  const shown = shownIds.filter((id) => selected.has(id)).length;
  return (
    <>
      <Paper role="region" aria-label="Selected monitors" shadow="md" className={classes['bar'] ?? ''}>
        <Text size="sm" fw={600} role="status" className="tabular">
          {formatCount(monitors.length, 'monitor')} selected
          {shown < monitors.length && `, ${monitors.length - shown} hidden by the filters`}
        </Text>
        <Group gap="xs">
          <Button
            size="xs"
            variant="subtle"
            disabled={shown === shownIds.length}
            onClick={() => onChange(new Set([...selected, ...shownIds]))}
          >
            Select all {shownIds.length.toLocaleString()}
          </Button>
          <Button
            size="xs"
            variant="subtle"
            color="gray"
            disabled={monitors.length === 0}
            onClick={() => onChange(new Set())}
          >
            Clear
          </Button>
          <IconButton
            size="xs"
            variant="filled"
            icon={IconTags}
            aria-haspopup="dialog"
            disabled={monitors.length === 0}
            onClick={open}
          >
            Edit labels
          </IconButton>
        </Group>
      </Paper>
      <Modal
        opened={opened}
        onClose={close}
        title={`Edit labels of ${formatCount(monitors.length, 'monitor')}`}
      >
        <EditLabels
          monitors={monitors}
          onRemaining={(ids) => onChange(new Set(ids))}
          onDone={() => onChange(null)}
          onCancel={close}
        />
      </Modal>
    </>
  );
}

type EditValues = {
  /** Such as `app=shop`. */
  readonly set: string[];
  /** Keys. */
  readonly remove: string[];
};

function findErrors({ set, remove }: EditValues): FieldError[] {
  const labelError = findLabelError(set);
  const keys = Object.keys(toLabels(set));
  const both = remove.find((key) => keys.includes(key));
  const invalid = remove.find((key) => labelKeyProblem(key) !== null);
  const errors = {
    set: labelError ?? (set.length + remove.length === 0 && 'Enter a label to add or a key to remove.'),
    remove:
      (invalid !== undefined && `${invalid}: ${labelKeyProblem(invalid)}`) ||
      (both !== undefined && `${both}: cannot be added and removed at once`),
  };
  return Object.entries(errors).flatMap(([path, message]) => (message === false ? [] : [{ path, message }]));
}

interface NamedFailure extends RelabelFailure {
  /** Of the monitor. */
  readonly name: string;
}

interface EditLabelsProps {
  readonly monitors: readonly MonitorOverview[];
  /** Some monitors could not be edited: these stay selected. */
  readonly onRemaining: (ids: readonly string[]) => void;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

/** The form. After errors it stays open for the monitors that remain, so the same edit can be repeated. */
function EditLabels({ monitors, onRemaining, onDone, onCancel }: EditLabelsProps): ReactNode {
  const queryClient = useQueryClient();
  const [progress, setProgress] = useState<{ readonly done: number; readonly total: number } | null>(null);
  const [failures, setFailures] = useState<readonly NamedFailure[]>([]);
  const [controller, setController] = useState<AbortController | null>(null);
  // Closing the dialog stops the work. What is done stays done.
  useEffect(() => () => controller?.abort(), [controller]);
  const form = useApiForm<EditValues>({ initialValues: { set: [], remove: [] }, validate: findErrors });

  const save = async ({ set, remove }: EditValues): Promise<void> => {
    const names = new Map(monitors.map(({ id, name }) => [id, name]));
    const edited = new Map<string, EditedMonitor>();
    const failed: NamedFailure[] = [];
    const { signal } = begin();
    const total = names.size;
    const show = (): void => setProgress({ done: edited.size + failed.length, total });
    show();
    await relabelMonitors(
      [...names.keys()],
      { set: toLabels(set), remove },
      {
        access: monitorAccess(signal),
        signal,
        onMonitor: (monitor) => {
          edited.set(monitor.id, monitor);
          show();
        },
        onFailure: (failure) => {
          failed.push({ name: names.get(failure.id) ?? failure.id, ...failure });
          show();
        },
      },
    );
    queryClient.setQueryData(monitorsQuery.queryKey, (list) =>
      list?.map((monitor) => withEdit(monitor, edited.get(monitor.id))),
    );
    void queryClient.invalidateQueries({ queryKey: ['monitor'] });
    setProgress(null);
    setFailures(failed);
    const remaining = [...names.keys()].filter((id) => !edited.has(id));
    if (edited.size > 0)
      notifications.show({ message: `The labels of ${formatCount(edited.size, 'monitor')} are up to date.` });
    if (remaining.length === 0) onDone();
    else onRemaining(remaining);
  };
  const begin = (): AbortController => {
    const created = new AbortController();
    setController(created);
    return created;
  };
  return (
    <SaveForm
      form={form}
      action={failures.length === 0 ? 'Apply' : 'Try again'}
      save={save}
      onCancel={onCancel}
      layout="dialog"
    >
      <TagsInput
        label="Add"
        description="Labels such as app=shop. They replace the existing value of the same key."
        splitChars={[',', ' ']}
        data-autofocus
        {...form.getInputProps('set')}
      />
      <TagsInput
        label="Remove"
        description="Keys of labels, with any value."
        data={keysOf(monitors)}
        splitChars={[',', ' ']}
        {...form.getInputProps('remove')}
      />
      {progress !== null && (
        <div role="status">
          <Quiet mb={6}>
            {progress.done.toLocaleString()} of {formatCount(progress.total, 'monitor')}
          </Quiet>
          <Progress value={(100 * progress.done) / progress.total} aria-label="Progress" />
        </div>
      )}
      {failures.length > 0 && progress === null && <Failures failures={failures} />}
    </SaveForm>
  );
}

type EditedMonitor = Pick<MonitorOverview, 'labels' | 'updatedAt'>;

/** Only the fields that an edit of labels changes, because the live stream may know a later status. */
function withEdit(monitor: MonitorOverview, edited: EditedMonitor | undefined): MonitorOverview {
  return edited === undefined ? monitor : { ...monitor, labels: edited.labels, updatedAt: edited.updatedAt };
}

function Failures({ failures }: { readonly failures: readonly NamedFailure[] }): ReactNode {
  return (
    <div role="alert">
      <Text size="sm" c="var(--status-down)" mb={4}>
        {formatCount(failures.length, 'monitor')} could not be changed and stay selected.
      </Text>
      <ScrollRegion label="Errors" maxHeight={180}>
        <List size="sm">
          {failures.map(({ id, name, message }) => (
            <List.Item key={id}>
              {name}: {message}
            </List.Item>
          ))}
        </List>
      </ScrollRegion>
    </div>
  );
}
