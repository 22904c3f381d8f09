import { Anchor, Skeleton, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Delivery } from '@tocsin/contracts/deliveries/delivery';
import { type ReactNode, useMemo } from 'react';
import { CardCell, CardTable } from '../components/card-table.tsx';
import { TextLink } from '../components/text-link.tsx';
import { Time } from '../components/time.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { describeNext, EVENT_WORDS } from './channel-text.ts';
import { DeliveryStateBadge } from './state-badges.tsx';

const COLUMNS = ['Event', 'Monitor', 'Time', 'State', 'Attempts', 'Next attempt'];

interface DeliveryTableProps {
  /** Undefined while they load. */
  readonly deliveries: readonly Delivery[] | undefined;
  readonly onOpen: (deliveryId: string) => void;
}

export function DeliveryTable({ deliveries, onOpen }: DeliveryTableProps): ReactNode {
  const { data: monitors } = useQuery(monitorsQuery);
  const names = useMemo(() => monitors && new Map(monitors.map(({ id, name }) => [id, name])), [monitors]);
  return (
    <CardTable label="Deliveries, the newest first" columns={COLUMNS}>
      {deliveries === undefined
        ? [0, 1, 2, 3, 4].map((row) => <PlaceholderRow key={row} />)
        : deliveries.map((delivery) => (
            <Table.Tr key={delivery.id}>
              <CardCell column="Event" heading>
                <Anchor
                  component="button"
                  type="button"
                  size="sm"
                  ta="left"
                  onClick={() => onOpen(delivery.id)}
                >
                  {EVENT_WORDS[delivery.event]}
                </Anchor>
              </CardCell>
              <CardCell column="Monitor">
                <MonitorName delivery={delivery} name={names && (names.get(delivery.monitorId) ?? null)} />
              </CardCell>
              <CardCell column="Time">
                <Time value={delivery.timestamp} />
              </CardCell>
              <CardCell column="State">
                <DeliveryStateBadge state={delivery.state} />
              </CardCell>
              <CardCell column="Attempts">
                <span className="tabular">{delivery.attemptCount}</span>
              </CardCell>
              <CardCell column="Next attempt">
                {delivery.state === 'pending' && delivery.nextAttemptAt !== null ? (
                  <Time value={delivery.nextAttemptAt} as="ago" />
                ) : (
                  <Text component="span" size="sm" c="var(--text-quiet)">
                    {describeNext(delivery)}
                  </Text>
                )}
              </CardCell>
            </Table.Tr>
          ))}
    </CardTable>
  );
}

export function MonitorName({
  delivery,
  name,
}: {
  readonly delivery: Pick<Delivery, 'monitorId' | 'test'>;
  /** Null where there is no such monitor (any more); undefined while names are not known. */
  readonly name: string | null | undefined;
}): ReactNode {
  if (delivery.test) return 'Test event';
  if (name === null)
    return (
      <Text component="span" size="sm" c="var(--text-quiet)" title={delivery.monitorId}>
        A deleted monitor
      </Text>
    );
  return (
    <TextLink to="/monitors/$monitorId" params={{ monitorId: delivery.monitorId }} c="inherit" size="sm">
      {name ?? delivery.monitorId}
    </TextLink>
  );
}

function PlaceholderRow(): ReactNode {
  return (
    <Table.Tr>
      {COLUMNS.map((column) => (
        <CardCell key={column} column={column}>
          <Skeleton height={20} width="80%" />
        </CardCell>
      ))}
    </Table.Tr>
  );
}
