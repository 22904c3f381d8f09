import { Alert, Button, Group, List, TagsInput, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconCode } from '@tabler/icons-react';
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import type { FieldError } from '@tocsin/contracts/errors';
import { labelKeyProblem } from '@tocsin/contracts/labels/labels';
import type { MonitorFailure } from '@tocsin/contracts/monitors/bulk-routes';
import { type ReactNode, useState } from 'react';
import { showError } from '../../../api/mutations.ts';
import { api } from '../../../api/request.ts';
import { useApiForm } from '../../../components/form.ts';
import { formatCount, listNames } from '../../../components/format.ts';
import { ScrollRegion } from '../../../components/page.tsx';
import { SaveForm } from '../../../components/save-form.tsx';
import { Quiet } from '../../../components/text.tsx';
import { findLabelError, keysOf, toLabels } from '../../../labels/label-text.ts';
import { monitorsQuery } from '../../queries.ts';
import { type BulkDialogProps, ProgressBar, useBulkRun } from './bulk-run.tsx';
import { describeEdit, type LabelEdit, undoEdits } from './label-edit.ts';
import { sendInChunks } from './send-in-chunks.ts';

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

/** After errors, the form stays open for the remaining monitors, so that the user can repeat the edit. */
export function EditLabels({ monitors, onRemaining, onDone, onCancel }: BulkDialogProps): ReactNode {
  const queryClient = useQueryClient();
  const [failures, setFailures] = useState<readonly MonitorFailure[]>([]);
  const { progress, run } = useBulkRun();
  const form = useApiForm<EditValues>({ initialValues: { set: [], remove: [] }, validate: findErrors });

  const save = async ({ set: texts, remove }: EditValues): Promise<void> => {
    const edit = { set: toLabels(texts), remove };
    const remaining = new Set(monitors.map(({ id }) => id));
    const failed: MonitorFailure[] = [];
    const edited = new Set<string>();
    try {
      await run([...remaining], async (ids) => {
        const { changedIds, failures: refused } = await sendEdit(queryClient, ids, edit);
        for (const id of changedIds) edited.add(id);
        failed.push(...refused);
        for (const id of ids) remaining.delete(id);
      });
    } finally {
      setFailures(failed);
      const before = monitors.filter(({ id }) => edited.has(id));
      if (before.length > 0) offerUndo(before.length, () => undo(queryClient, before, edit));
      onRemaining([...remaining, ...failed.map(({ id }) => id)]);
    }
    if (failed.length === 0) onDone();
  };
  const { set, remove } = form.values;
  const sources = [...new Set(monitors.flatMap(({ source }) => source ?? []))];
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
        splitChars={[',']}
        data-autofocus
        {...form.getInputProps('set')}
      />
      <TagsInput
        label="Remove"
        description="Keys of labels, with any value."
        data={keysOf(monitors)}
        splitChars={[',']}
        {...form.getInputProps('remove')}
      />
      {sources.length > 0 && (
        <Alert icon={<IconCode aria-hidden />} title="Managed as code">
          {formatCount(monitors.filter(({ source }) => source !== null).length, 'monitor')} of{' '}
          {listNames(sources)}: the next apply of these sources may undo your changes.
        </Alert>
      )}
      <div role="status">
        {findErrors({ set, remove }).length === 0 && (
          <Quiet>{describeEdit(monitors, { set: toLabels(set), remove })}</Quiet>
        )}
      </div>
      <ProgressBar progress={progress} />
      {failures.length > 0 && progress === null && <Failures failures={failures} monitors={monitors} />}
    </SaveForm>
  );
}

/** Edits labels, and shows the new ones in the list. */
async function sendEdit(
  queryClient: QueryClient,
  monitorIds: readonly string[],
  { set, remove }: LabelEdit,
): Promise<{ changedIds: string[]; failures: MonitorFailure[] }> {
  const body = { monitorIds: [...monitorIds], set, remove: [...remove] };
  const { monitors, failures } = await api('POST /api/dashboard/monitors/labels', { body });
  const edited = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  // Replaces only fields that an edit of labels changes, because the live stream may know a later status.
  queryClient.setQueryData(monitorsQuery.queryKey, (list) =>
    list?.map((monitor) => ({ ...monitor, ...edited.get(monitor.id) })),
  );
  void queryClient.invalidateQueries({ queryKey: ['monitor'] });
  return { changedIds: [...edited.keys()], failures };
}

const UNDO_WITHIN_MS = 15_000;

function offerUndo(count: number, undoEdit: () => Promise<void>): void {
  const id = notifications.show({
    autoClose: UNDO_WITHIN_MS,
    message: (
      <Group justify="space-between" wrap="nowrap">
        Labels of {formatCount(count, 'monitor')} changed.
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            notifications.hide(id);
            undoEdit().catch(showError);
          }}
        >
          Undo
        </Button>
      </Group>
    ),
  });
}

/** @param before the monitors as they were before the edit */
async function undo(
  queryClient: QueryClient,
  before: BulkDialogProps['monitors'],
  edit: LabelEdit,
): Promise<void> {
  let count = 0;
  for (const { monitorIds, ...former } of undoEdits(before, edit))
    await sendInChunks(monitorIds, async (ids) => {
      count += (await sendEdit(queryClient, ids, former)).changedIds.length;
    });
  notifications.show({ message: `Restored the labels of ${formatCount(count, 'monitor')}.` });
}

interface FailuresProps extends Pick<BulkDialogProps, 'monitors'> {
  readonly failures: readonly MonitorFailure[];
}

function Failures({ failures, monitors }: FailuresProps): ReactNode {
  const names = new Map(monitors.map(({ id, name }) => [id, name]));
  return (
    <div role="alert">
      <Text size="sm" c="var(--status-down)" mb={4}>
        {formatCount(failures.length, 'monitor')} could not be changed and stay selected.
      </Text>
      <ScrollRegion label="Errors" maxHeight={180}>
        <List size="sm">
          {failures.map(({ id, message }) => (
            <List.Item key={id}>
              {names.get(id) ?? id}: {message}
            </List.Item>
          ))}
        </List>
      </ScrollRegion>
    </div>
  );
}
