import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { DeleteButton } from '../../components/confirm-dialog.tsx';
import { deleteMonitor, monitorsQuery } from '../queries.ts';

/** Deletes the monitor once its name is typed, and goes to the list. */
export function DeleteMonitor({ monitor: { id, name } }: { readonly monitor: Monitor }): ReactNode {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return (
    <DeleteButton
      name={name}
      title="Delete monitor"
      remove={() => deleteMonitor(id)}
      onDeleted={async () => {
        queryClient.setQueryData(
          monitorsQuery.queryKey,
          (monitors) => monitors && monitors.filter((other) => other.id !== id),
        );
        void queryClient.invalidateQueries({ queryKey: ['incidents'] });
        await navigate({ to: '/', ignoreBlocker: true });
        queryClient.removeQueries({ queryKey: ['monitor', id] });
      }}
    >
      It is checked no more. Its events, statistics and incidents are lost for good.
    </DeleteButton>
  );
}
