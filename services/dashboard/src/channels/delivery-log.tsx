import { Anchor, SegmentedControl } from '@mantine/core';
import { IconInbox } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Delivery } from '@tocsin/contracts/deliveries/delivery';
import { DELIVERY_STATES, type DeliveryState } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { Loaded, LoadMore } from '../components/load-states.tsx';
import { DataTable, EmptyState, Panel } from '../components/page.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { describeNextAttempt, EVENT_LABELS, STATE_LABELS } from './channel-text.ts';
import { DeliveryDrawer, MonitorName } from './delivery-details.tsx';
import { deliveriesQuery } from './queries.ts';
import { RedeliverRange } from './redeliver.tsx';
import { DeliveryStateBadge } from './state-badges.tsx';

const FILTERS = [
  { value: 'all', label: 'All' },
  ...DELIVERY_STATES.map((state) => ({ value: state, label: STATE_LABELS[state] })),
];

/** Past and pending webhooks of a channel. */
export function DeliveryLog({ channel }: { readonly channel: Channel }): ReactNode {
  const [state, setState] = useState<DeliveryState | null>(null);
  const [openedId, setOpenedId] = useState<string | null>(null);
  const query = useInfiniteQuery(deliveriesQuery(channel.id, state));
  return (
    <Panel title="Delivery log" actions={<RedeliverRange channel={channel} />}>
      <SegmentedControl
        mb="sm"
        size="xs"
        aria-label="State of the deliveries"
        data={FILTERS}
        value={state ?? 'all'}
        onChange={(value) => setState(DELIVERY_STATES.find((one) => one === value) ?? null)}
      />
      <Loaded query={query} pending={<DeliveryTable deliveries={undefined} onOpen={setOpenedId} />}>
        {({ pages }) =>
          pages[0]?.length !== 0 ? (
            <>
              <DeliveryTable deliveries={pages.flat()} onOpen={setOpenedId} />
              <LoadMore query={query} />
            </>
          ) : state === null ? (
            <EmptyState icon={IconInbox} title="No deliveries yet">
              Send a test event above to check that the receiver responds. Outages and recoveries appear here
              automatically.
            </EmptyState>
          ) : (
            <Quiet py="lg">No deliveries in this state.</Quiet>
          )
        }
      </Loaded>
      <DeliveryDrawer deliveryId={openedId} channel={channel} onClose={() => setOpenedId(null)} />
    </Panel>
  );
}

interface DeliveryTableProps {
  /** Undefined while they load. */
  readonly deliveries: readonly Delivery[] | undefined;
  readonly onOpen: (deliveryId: string) => void;
}

function DeliveryTable({ deliveries, onOpen }: DeliveryTableProps): ReactNode {
  return (
    <DataTable
      label="Deliveries, newest first"
      rows={deliveries}
      rowKey={({ id }) => id}
      columns={[
        {
          title: 'Event',
          render: ({ id, event }) => (
            <Anchor component="button" type="button" size="sm" ta="left" onClick={() => onOpen(id)}>
              {EVENT_LABELS[event]}
            </Anchor>
          ),
        },
        { title: 'Monitor', render: (delivery) => <MonitorName delivery={delivery} /> },
        { title: 'Time', render: ({ timestamp }) => <Time value={timestamp} /> },
        { title: 'State', render: ({ state }) => <DeliveryStateBadge state={state} /> },
        { title: 'Attempts', render: ({ attemptCount }) => attemptCount },
        {
          title: 'Next attempt',
          render: (delivery) =>
            delivery.state === 'pending' && delivery.nextAttemptAt !== null ? (
              <Time value={delivery.nextAttemptAt} as="ago" />
            ) : (
              <Quiet inline>{describeNextAttempt(delivery)}</Quiet>
            ),
        },
      ]}
    />
  );
}
