import { Code, DataList, Drawer, Group, SegmentedControl, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Attempt, DeliveryDetail } from '@tocsin/contracts/deliveries/delivery';
import { type ReactNode, useState } from 'react';
import { isStatus } from '../api/api-error.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Time } from '../components/time.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { EVENT_WORDS, prettyPayload } from './channel-text.ts';
import { MonitorName } from './delivery-table.tsx';
import { deliveryQuery } from './queries.ts';
import { RedeliverButton } from './redeliver.tsx';
import { DeliveryStateBadge } from './state-badges.tsx';

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

interface DeliveryDetailsProps {
  readonly delivery: DeliveryDetail;
  readonly channel: Channel;
}

function DeliveryDetails({ delivery, channel }: DeliveryDetailsProps): ReactNode {
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

/** The body of a webhook: laid out to be read, or the very text that is sent. */
function DeliveryPayload({ payload }: { readonly payload: string }): ReactNode {
  const [raw, setRaw] = useState(false);
  const text = raw ? payload : prettyPayload(payload);
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={3} size="h5">
          Payload
        </Title>
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label="How the payload is shown"
            data={['Pretty', 'Raw']}
            value={raw ? 'Raw' : 'Pretty'}
            onChange={(value) => setRaw(value === 'Raw')}
          />
          <CopyButton value={text} what="the payload" />
        </Group>
      </Group>
      <Code
        block
        style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
        tabIndex={0}
        role="region"
        aria-label="Payload"
      >
        {text}
      </Code>
    </Stack>
  );
}

/** What one attempt came to. */
export function AttemptSummary({
  attempt,
  children,
}: {
  readonly attempt: Attempt;
  /** What stands before it, as the outcome in a word. */
  readonly children: ReactNode;
}): ReactNode {
  const { statusCode, durationMs, error, responseExcerpt } = attempt;
  return (
    <Stack gap={6}>
      <Group gap="md">
        {children}
        <Text size="sm" className="tabular">
          {statusCode === null ? 'No answer' : `Answered ${statusCode}`} · {durationMs} ms
        </Text>
      </Group>
      {error !== null && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {error}
        </Text>
      )}
      <AnswerExcerpt text={responseExcerpt} />
    </Stack>
  );
}

/** The beginning of what a receiver answered; nothing where it answered nothing. */
function AnswerExcerpt({ text }: { readonly text: string | null }): ReactNode {
  if (text === null || text === '') return null;
  return (
    <Code
      block
      mah={160}
      style={{ overflow: 'auto', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
      tabIndex={0}
      role="region"
      aria-label="What the receiver answered"
    >
      {text}
    </Code>
  );
}
