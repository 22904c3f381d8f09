import { Drawer, Skeleton, Stack } from '@mantine/core';
import type { Channel } from '@tocsin/contracts/channel';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isStatus } from '../api/api-error.ts';
import { Loaded } from '../components/loaded.tsx';
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
    <Drawer opened={deliveryId !== null} onClose={onClose} position="right" size="lg" title="Delivery">
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
  const query = useQuery(deliveryQuery(deliveryId));
  if (query.data === undefined && isStatus(query.error, 404)) return 'This delivery is no longer kept.';
  return (
    <Loaded query={query} pending={<Placeholder />}>
      {(delivery) => <DeliveryDetails delivery={delivery} channel={channel} />}
    </Loaded>
  );
}

function Placeholder(): ReactNode {
  return (
    <Stack>
      <Skeleton height={150} />
      <Skeleton height={260} />
      <Skeleton height={120} />
    </Stack>
  );
}
