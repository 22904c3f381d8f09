import { Group, SegmentedControl, Text } from '@mantine/core';
import { IconInbox } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { DELIVERY_STATES, type DeliveryState } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { EmptyState } from '../components/empty-state.tsx';
import { LoadMore } from '../components/load-more.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Panel } from '../components/panel.tsx';
import { STATE_WORDS } from './channel-text.ts';
import { DeliveryDrawer } from './delivery-details.tsx';
import { DeliveryTable } from './delivery-table.tsx';
import { deliveriesQuery } from './queries.ts';
import { RedeliverRange } from './redeliver.tsx';

const FILTERS = [
  { value: 'all', label: 'All' },
  ...DELIVERY_STATES.map((state) => ({ value: state, label: STATE_WORDS[state] })),
];

/** What was sent to a channel, and what is still to be. */
export function DeliveryLog({ channel }: { readonly channel: Channel }): ReactNode {
  const [state, setState] = useState<DeliveryState | null>(null);
  const [openedId, setOpenedId] = useState<string | null>(null);
  const query = useInfiniteQuery(deliveriesQuery(channel.id, state));
  return (
    <Panel title="Delivery log" actions={<RedeliverRange channel={channel} />}>
      <Group mb="sm" gap="sm">
        <SegmentedControl
          size="xs"
          aria-label="State of the deliveries"
          data={FILTERS}
          value={state ?? 'all'}
          onChange={(value) => setState(DELIVERY_STATES.find((one) => one === value) ?? null)}
        />
      </Group>
      <Loaded query={query} pending={<DeliveryTable deliveries={undefined} onOpen={setOpenedId} />}>
        {({ pages }) =>
          pages[0]?.length === 0 ? (
            <NothingYet state={state} />
          ) : (
            <>
              <DeliveryTable deliveries={pages.flat()} onOpen={setOpenedId} />
              <LoadMore query={query} />
            </>
          )
        }
      </Loaded>
      <DeliveryDrawer deliveryId={openedId} channel={channel} onClose={() => setOpenedId(null)} />
    </Panel>
  );
}

function NothingYet({ state }: { readonly state: DeliveryState | null }): ReactNode {
  if (state !== null)
    return (
      <Text size="sm" c="var(--text-quiet)" py="lg">
        No delivery is in this state.
      </Text>
    );
  return (
    <EmptyState icon={IconInbox} title="Nothing was sent yet">
      Send a test event above to see that the receiver answers. Outages and recoveries follow by themselves.
    </EmptyState>
  );
}
