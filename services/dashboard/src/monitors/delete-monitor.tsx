import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { api } from '../api/request.ts';
import { DeleteButton } from '../components/confirm-dialog.tsx';
import { monitorsQuery } from './queries.ts';

/** Deletes the monitor and opens the list. */
export function DeleteMonitor({ monitor: { id, name } }: { readonly monitor: Monitor }): ReactNode {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return (
    <DeleteButton
      name={name}
      title="Delete monitor"
      remove={() => api("DELETE /api/dashboard/monitors/:id", { id })}
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
      Checks stop. Its events, statistics and incidents are deleted permanently.
    </DeleteButton>
  );
}
