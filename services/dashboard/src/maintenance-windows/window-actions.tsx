import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPencil, IconPlayerStop } from '@tabler/icons-react';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { DeleteButton } from '../components/delete-button.tsx';
import { EndNowModal } from './end-now-modal.tsx';
import { deleteWindow, windowQuery, windowsQuery } from './queries.ts';

interface WindowActionsProps {
  readonly window: MaintenanceWindow;
  readonly onEdit: () => void;
}

export function WindowActions({ window, onEdit }: WindowActionsProps): ReactNode {
  const [ending, { open, close }] = useDisclosure();
  return (
    <>
      {window.state === 'running' && (
        <Button leftSection={<IconPlayerStop size={16} aria-hidden />} onClick={open} aria-haspopup="dialog">
          End now
        </Button>
      )}
      <Button variant="default" leftSection={<IconPencil size={16} aria-hidden />} onClick={onEdit}>
        Edit
      </Button>
      <DeleteWindow window={window} />
      <EndNowModal window={window} opened={ending} onClose={close} />
    </>
  );
}

function DeleteWindow({ window: { id, name, state } }: { readonly window: MaintenanceWindow }): ReactNode {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return (
    <DeleteButton
      name={name}
      title="Delete this maintenance window"
      remove={() => deleteWindow(id)}
      onDeleted={async () => {
        await navigate({ to: '/maintenance', ignoreBlocker: true });
        queryClient.removeQueries({ queryKey: windowQuery(id).queryKey });
        void queryClient.invalidateQueries({ queryKey: windowsQuery.queryKey });
      }}
    >
      {state === 'running'
        ? 'It ends at once, and does not come again. Monitors that are down then alert.'
        : 'It does not come again.'}
    </DeleteButton>
  );
}
