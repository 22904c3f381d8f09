import { Drawer, Skeleton, Stack } from '@mantine/core';
import type { Channel } from '@tocsin/contracts/channel';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isStatus } from '../api/api-error.ts';
import { ErrorNotice } from '../app/page-states.tsx';
import { DeliveryDetails } from './delivery-details.tsx';
import { deliveryQuery } from './queries.ts';

interface DeliveryDrawerProps {
  /** Null: closed. */
  readonly deliveryId: string | null;
  readonly channel: Channel;
  readonly onClose: () => void;
}

/** One delivery beside the log: its payload, and every attempt with its answer. */
export function DeliveryDrawer({ deliveryId, channel, onClose }: DeliveryDrawerProps): ReactNode {
  return (
    <Drawer
      opened={deliveryId !== null}
      onClose={onClose}
      position="right"
      size="lg"
      title="Delivery"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {deliveryId !== null && <Content deliveryId={deliveryId} channel={channel} />}
    </Drawer>
  );
}

function Content({
  deliveryId,
  channel,
}: {
  readonly deliveryId: string;
  readonly channel: Channel;
}): ReactNode {
  const { data, error, refetch } = useQuery(deliveryQuery(deliveryId));
  if (data !== undefined) return <DeliveryDetails delivery={data} channel={channel} />;
  if (isStatus(error, 404)) return 'This delivery is no longer kept.';
  if (error !== null) return <ErrorNotice error={error} retry={() => void refetch()} />;
  return (
    <Stack>
      <Skeleton height={150} />
      <Skeleton height={260} />
      <Skeleton height={120} />
    </Stack>
  );
}
