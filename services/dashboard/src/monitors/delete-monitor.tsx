import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { DeleteButton } from '../components/dialogs.tsx';
import { monitorsQuery } from './queries.ts';

export function DeleteMonitor({ monitor: { id, name } }: { readonly monitor: Monitor }): ReactNode {
  const refresh = useRefresh();
  return (
    <DeleteButton
      id={id}
      name={name}
      title="Delete this monitor"
      remove={async () => {
        await api('DELETE /api/dashboard/monitors/:id', { id });
        void refresh({ queryKey: ['incidents'] });
      }}
      listPath="/"
      list={monitorsQuery}
      detail={{ queryKey: ['monitor', id] }}
    >
      Checks stop. All events, statistics and incidents of the monitor are deleted.
    </DeleteButton>
  );
}
