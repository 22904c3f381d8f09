import { List, TagsInput, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import type { FieldError } from '@tocsin/contracts/errors';
import { labelKeyProblem } from '@tocsin/contracts/labels/labels';
import type { MonitorFailure, RelabeledMonitor } from '@tocsin/contracts/monitors/bulk-routes';
import { type ReactNode, useState } from 'react';
import { api } from '../../../api/request.ts';
import { useApiForm } from '../../../components/form.ts';
import { formatCount } from '../../../components/format.ts';
import { ScrollRegion } from '../../../components/page.tsx';
import { SaveForm } from '../../../components/save-form.tsx';
import { findLabelError, keysOf, toLabels } from '../../../labels/label-text.ts';
import { monitorsQuery } from '../../queries.ts';
import { type BulkDialogProps, ProgressBar, useBulkRun } from './bulk-run.tsx';

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

  const save = async ({ set, remove }: EditValues): Promise<void> => {
    const remaining = new Set(monitors.map(({ id }) => id));
    const edited = new Map<string, RelabeledMonitor>();
    const failed: MonitorFailure[] = [];
    try {
      await run([...remaining], async (monitorIds) => {
        const body = { monitorIds: [...monitorIds], set: toLabels(set), remove };
        const response = await api('POST /api/dashboard/monitors/labels', { body });
        for (const monitor of response.monitors) edited.set(monitor.id, monitor);
        failed.push(...response.failures);
        for (const id of monitorIds) remaining.delete(id);
      });
    } finally {
      // Replaces only fields that an edit of labels changes, because the live stream may know a later status.
      queryClient.setQueryData(monitorsQuery.queryKey, (list) =>
        list?.map((monitor) => ({ ...monitor, ...edited.get(monitor.id) })),
      );
      void queryClient.invalidateQueries({ queryKey: ['monitor'] });
      setFailures(failed);
      if (edited.size > 0)
        notifications.show({
          message: `The labels of ${formatCount(edited.size, 'monitor')} are up to date.`,
        });
      onRemaining([...remaining, ...failed.map(({ id }) => id)]);
    }
    if (failed.length === 0) onDone();
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
      <ProgressBar progress={progress} />
      {failures.length > 0 && progress === null && <Failures failures={failures} monitors={monitors} />}
    </SaveForm>
  );
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
