import { Button, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconRotateClockwise } from '@tabler/icons-react';
import type { Channel } from '@tocsin/contracts/channel';
import type { Delivery } from '@tocsin/contracts/channel-delivery';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { channelQuery, deliveryQuery, redeliver } from './queries.ts';

interface RedeliverButtonProps {
  readonly delivery: Delivery;
  readonly channel: Channel;
}

export function RedeliverButton({ delivery, channel }: RedeliverButtonProps): ReactNode {
  const queryClient = useQueryClient();
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => redeliver(delivery.id),
    onSuccess: async () => {
      notifications.show({ message: 'It is due again at once.' });
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: deliveryQuery(delivery.id).queryKey }),
        queryClient.invalidateQueries({ queryKey: [...channelQuery(channel.id).queryKey, 'deliveries'] }),
      ]);
    },
  });
  return (
    <Stack gap="xs" align="flex-start">
      <Button
        variant="default"
        size="sm"
        leftSection={<IconRotateClockwise size={16} aria-hidden />}
        disabled={!channel.enabled}
        loading={isPending}
        onClick={() => mutate()}
      >
        Redeliver
      </Button>
      {!channel.enabled && (
        <Text size="xs" c="var(--text-quiet)">
          Enable the channel first.
        </Text>
      )}
      {error !== null && <ErrorNotice error={error} />}
    </Stack>
  );
}
