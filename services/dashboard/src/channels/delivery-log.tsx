import { Anchor, SegmentedControl } from '@mantine/core';
import { IconInbox } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { DELIVERY_STATES, type DeliveryState } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { Loaded, LoadMore, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { EmptyState, Panel } from '../components/page.tsx';
import { Quiet, StateBadge, Time } from '../components/text.tsx';
import { EVENT_LABELS, NO_NEXT_ATTEMPT } from './channel-text.ts';
import { DeliveryDrawer, MonitorName } from './delivery-details.tsx';
import { deliveriesQuery } from './queries.ts';
import { RedeliverRange } from './redeliver.tsx';
import { DELIVERY_LOOKS } from './state-badges.tsx';

const FILTERS: { value: DeliveryState | 'all'; label: string }[] = [
  { value: 'all', label: 'All' },
  ...DELIVERY_STATES.map((value) => ({ value, label: DELIVERY_LOOKS[value].label })),
];

/** Past and pending webhooks of a channel. */
export function DeliveryLog({ channel }: { readonly channel: Channel }): ReactNode {
  const [state, setState] = useState<DeliveryState | null>(null);
  const [openedId, setOpenedId] = useState<string | null>(null);
  const query = useInfiniteQuery(deliveriesQuery(channel.id, state));
  const empty =
    state === null ? (
      <EmptyState icon={IconInbox} title="No deliveries yet">
        Send a test event above to check that the receiver responds. Outages and recoveries appear here
        automatically.
      </EmptyState>
    ) : (
      <Quiet py="lg">No deliveries in this state.</Quiet>
    );
  return (
    <Panel title="Delivery log" actions={<RedeliverRange channel={channel} />}>
      <SegmentedControl
        mb="sm"
        size="xs"
        aria-label="State of the deliveries"
        data={FILTERS}
        value={state ?? 'all'}
        onChange={(value) => setState(value === 'all' ? null : value)}
      />
      <Loaded query={query} pending={<Placeholder heights={[220]} />} empty={empty}>
        {(deliveries) => (
          <DataTable
            label="Deliveries, newest first"
            rows={deliveries}
            rowKey={({ id }) => id}
            columns={{
              Event: ({ id, event }) => (
                <Anchor component="button" type="button" size="sm" ta="left" onClick={() => setOpenedId(id)}>
                  {EVENT_LABELS[event]}
                </Anchor>
              ),
              Monitor: (delivery) => <MonitorName delivery={delivery} />,
              Time: ({ timestamp }) => <Time value={timestamp} />,
              State: ({ state: one }) => <StateBadge look={DELIVERY_LOOKS[one]} />,
              Attempts: ({ attemptCount }) => attemptCount,
              'Next attempt': ({ state: one, nextAttemptAt }) =>
                nextAttemptAt !== null ? (
                  <Time value={nextAttemptAt} as="ago" />
                ) : (
                  <Quiet inline>{NO_NEXT_ATTEMPT[one]}</Quiet>
                ),
            }}
          />
        )}
      </Loaded>
      <LoadMore query={query} />
      <DeliveryDrawer deliveryId={openedId} channel={channel} onClose={() => setOpenedId(null)} />
    </Panel>
  );
}
