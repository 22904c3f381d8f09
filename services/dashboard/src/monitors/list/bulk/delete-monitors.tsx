import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useRefresh } from '../../../api/mutations.ts';
import { api } from '../../../api/request.ts';
import { ConfirmDialog } from '../../../components/dialogs.tsx';
import { formatCount, listNames } from '../../../components/format.ts';
import { monitorsQuery } from '../../queries.ts';
import { type BulkDialogProps, ProgressBar, useBulkRun } from './bulk-run.tsx';

interface DeleteMonitorsProps extends Pick<BulkDialogProps, 'monitors' | 'onDone' | 'onCancel'> {
  readonly opened: boolean;
}

/** Deletes after a confirmation. After an error, the dialog stays open and the remaining monitors stay selected. */
export function DeleteMonitors({ opened, monitors, onDone, onCancel }: DeleteMonitorsProps): ReactNode {
  const queryClient = useQueryClient();
  const refresh = useRefresh();
  const { progress, run } = useBulkRun();
  const count = formatCount(monitors.length, 'monitor');
  const remove = async (): Promise<void> => {
    let deleted = 0;
    try {
      await run(
        monitors.map(({ id }) => id),
        async (monitorIds) => {
          const body = { monitorIds: [...monitorIds] };
          const { deletedIds } = await api('POST /api/dashboard/monitors/delete', { body });
          deleted += deletedIds.length;
          const gone = new Set(monitorIds);
          queryClient.setQueryData(monitorsQuery.queryKey, (list) =>
            list?.filter((monitor) => !gone.has(monitor.id)),
          );
        },
      );
    } finally {
      void refresh({ queryKey: ['incidents'] });
      const verb = deleted === 1 ? 'was' : 'were';
      if (deleted > 0) notifications.show({ message: `${formatCount(deleted, 'monitor')} ${verb} deleted.` });
    }
    onDone();
  };
  return (
    <ConfirmDialog
      opened={opened}
      title={`Delete ${count}?`}
      action={`Delete ${count}`}
      {...(monitors.length > 1 && { name: String(monitors.length) })}
      onConfirm={remove}
      onClose={onCancel}
    >
      Checks stop. All events, statistics and incidents of {listNames(monitors.map(({ name }) => name))} are
      deleted.
      <ProgressBar progress={progress} />
    </ConfirmDialog>
  );
}
