import type { Monitor } from '@tocsin/contracts/monitor';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ConfirmByName } from '../../components/confirm-by-name.tsx';
import { deleteMonitor, monitorQuery, monitorsQuery } from '../queries.ts';

interface DeleteMonitorProps {
  readonly monitor: Monitor;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function DeleteMonitor({ monitor: { id, name }, opened, onClose }: DeleteMonitorProps): ReactNode {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => deleteMonitor(id),
    onSuccess: async () => {
      queryClient.setQueryData(monitorsQuery.queryKey, (monitors) =>
        monitors?.filter((monitor) => monitor.id !== id),
      );
      notifications.show({ color: 'teal', message: `${name} is deleted.` });
      // First away from the page: it would ask for what is gone.
      await navigate({ to: '/' });
      queryClient.removeQueries({ queryKey: monitorQuery(id).queryKey });
      await queryClient.invalidateQueries({ queryKey: ['incidents'] });
    },
  });
  return (
    <ConfirmByName
      name={name}
      title="Delete monitor"
      opened={opened}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={() => {
        remove.reset();
        onClose();
      }}
    >
      Checking stops at once. Its events, incidents and statistics are gone for good; alerts that are due are
      still sent.
    </ConfirmByName>
  );
}
