import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconPencil, IconPlayerStop, IconTrash } from '@tabler/icons-react';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ConfirmByName } from '../components/confirm-by-name.tsx';
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

function DeleteWindow({ window }: { readonly window: MaintenanceWindow }): ReactNode {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [opened, { open, close }] = useDisclosure();
  const remove = useMutation({
    mutationFn: () => deleteWindow(window.id),
    onSuccess: async () => {
      await navigate({ to: '/maintenance' });
      queryClient.removeQueries({ queryKey: windowQuery(window.id).queryKey });
      void queryClient.invalidateQueries({ queryKey: windowsQuery.queryKey });
      notifications.show({ message: `${window.name} is deleted.` });
    },
  });
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconTrash size={16} aria-hidden />}
        onClick={open}
        aria-haspopup="dialog"
      >
        Delete
      </Button>
      <ConfirmByName
        name={window.name}
        title="Delete this maintenance window"
        opened={opened}
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={close}
      >
        {window.state === 'running'
          ? 'It ends at once, and does not come again. Monitors that are down then alert.'
          : 'It does not come again.'}
      </ConfirmByName>
    </>
  );
}
