import { DataList, Group, Stack, Text, Title } from '@mantine/core';
import type { DeliveryDetail } from '@tocsin/contracts/channel-delivery';
import type { Channel } from '@tocsin/contracts/channel';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Time } from '../components/time.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { AttemptSummary } from './attempt-summary.tsx';
import { DeliveryPayload } from './delivery-payload.tsx';
import { DeliveryStateBadge } from './delivery-state-badge.tsx';
import { MonitorName } from './delivery-table.tsx';
import { EVENT_WORDS } from './delivery-words.ts';
import { RedeliverButton } from './redeliver-button.tsx';

interface DeliveryDetailsProps {
  readonly delivery: DeliveryDetail;
  readonly channel: Channel;
}

export function DeliveryDetails({ delivery, channel }: DeliveryDetailsProps): ReactNode {
  const { data: monitors } = useQuery(monitorsQuery);
  const { deliveredAt, nextAttemptAt, state } = delivery;
  const name = monitors && (monitors.find(({ id }) => id === delivery.monitorId)?.name ?? null);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={2} size="h4">
          {EVENT_WORDS[delivery.event]}
        </Title>
        <DeliveryStateBadge state={state} />
      </Group>
      <DataList orientation="horizontal">
        <Fact label="Monitor">
          <MonitorName delivery={delivery} name={name} />
        </Fact>
        <Fact label="Happened">
          <Time value={delivery.timestamp} />
        </Fact>
        {deliveredAt !== null && (
          <Fact label="Delivered">
            <Time value={deliveredAt} />
          </Fact>
        )}
        {state === 'pending' && nextAttemptAt !== null && (
          <Fact label="Next attempt">
            <Time value={nextAttemptAt} />
          </Fact>
        )}
      </DataList>
      <RedeliverButton delivery={delivery} channel={channel} />
      <DeliveryPayload payload={delivery.payload} />
      <Attempts delivery={delivery} />
    </Stack>
  );
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode {
  return (
    <DataList.Item>
      <DataList.ItemLabel>{label}</DataList.ItemLabel>
      <DataList.ItemValue>{children}</DataList.ItemValue>
    </DataList.Item>
  );
}

function Attempts({ delivery: { attempts } }: { readonly delivery: DeliveryDetail }): ReactNode {
  return (
    <Stack gap="sm">
      <Title order={3} size="h5">
        Attempts
      </Title>
      {attempts.length === 0 && (
        <Text size="sm" c="var(--text-quiet)">
          None yet.
        </Text>
      )}
      {attempts.toReversed().map((attempt) => (
        <AttemptSummary key={attempt.number} attempt={attempt}>
          <Text size="sm" fw={600} className="tabular">
            {attempt.number}.
          </Text>
          <Text size="sm" component="span">
            <Time value={attempt.startedAt} />
          </Text>
        </AttemptSummary>
      ))}
    </Stack>
  );
}
