import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { Time } from '../components/time.tsx';
import { endMaintenance, useWindowChanged } from './queries.ts';

interface EndNowModalProps {
  readonly window: MaintenanceWindow;
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Asks before what runs is ended. */
export function EndNowModal({ window, opened, onClose }: EndNowModalProps): ReactNode {
  const changed = useWindowChanged();
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => endMaintenance(window.id),
    onSuccess: (after) => {
      changed(after);
      notifications.show({
        message: 'The maintenance is over. Its monitors alert again within two seconds.',
      });
      onClose();
    },
  });
  const { nextOccurrence } = window;
  return (
    <Modal opened={opened} onClose={onClose} title="End the maintenance now">
      <Stack>
        <Text size="sm">
          Monitors that are down then alert at once.{' '}
          {nextOccurrence === null ? (
            'The window does not come again.'
          ) : (
            <>
              The next one begins on <Time value={nextOccurrence.startsAt} />, as planned.
            </>
          )}
        </Text>
        {error !== null && <ErrorNotice error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Let it run
          </Button>
          <Button loading={isPending} onClick={() => mutate()}>
            End now
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
