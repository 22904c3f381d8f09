import type { Monitor } from '@tocsin/contracts/monitor';
import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ConfirmByName } from '../../components/confirm-by-name.tsx';
import { deleteMonitor, monitorsQuery } from '../queries.ts';

/** Deletes the monitor once its name is typed, and goes to the list. */
export function DeleteMonitor({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const { id, name } = monitor;
  const [opened, { open, close }] = useDisclosure();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => deleteMonitor(id),
    onSuccess: async () => {
      queryClient.setQueryData(
        monitorsQuery.queryKey,
        (monitors) => monitors && monitors.filter((other) => other.id !== id),
      );
      void queryClient.invalidateQueries({ queryKey: ['incidents'] });
      notifications.show({ message: `${name} is deleted` });
      await navigate({ to: '/', ignoreBlocker: true });
      queryClient.removeQueries({ queryKey: ['monitor', id] });
    },
  });
  return (
    <>
      <Button variant="default" leftSection={<IconTrash size={16} aria-hidden />} onClick={open}>
        Delete
      </Button>
      <ConfirmByName
        name={name}
        title="Delete monitor"
        opened={opened}
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        onClose={close}
      >
        It is checked no more. Its events, statistics and incidents are lost for good.
      </ConfirmByName>
    </>
  );
}
