import { Alert, Drawer, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconRotateClockwise } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Attempt, Delivery, DeliveryDetail } from '@tocsin/contracts/deliveries/delivery';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api, isStatus } from '../api/request.ts';
import { ActionButton, CopyButton } from '../components/buttons.tsx';
import { TextBlock } from '../components/code.tsx';
import { Facts } from '../components/facts.tsx';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { Quiet, StateBadge, TextLink, Time } from '../components/text.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { EVENT_LABELS, prettyPayload } from './channel-text.ts';
import { channelQuery, deliveryQuery } from './queries.ts';
import { DELIVERY_LOOKS } from './state-badges.tsx';
import { useCan } from '../session/session.ts';

interface DeliveryDrawerProps {
  /** Null while the drawer is closed. */
  readonly deliveryId: string | null;
  readonly channel: Channel;
  readonly onClose: () => void;
}

export function DeliveryDrawer({ deliveryId, channel, onClose }: DeliveryDrawerProps): ReactNode {
  return (
    <Drawer opened={deliveryId !== null} onClose={onClose} position="right" size="lg" title="Delivery">
      {deliveryId !== null && <Content deliveryId={deliveryId} channel={channel} />}
    </Drawer>
  );
}

function Content({ deliveryId, channel }: { deliveryId: string; channel: Channel }): ReactNode {
  const query = useQuery(deliveryQuery(deliveryId));
  const can = useCan();
  if (query.data === undefined && isStatus(query.error, 404)) return 'This delivery was deleted.';
  return (
    <Loaded query={query} pending={<Placeholder heights={[150, 260, 120]} />}>
      {(delivery) => (
        <Stack>
          <Group justify="space-between">
            <Title order={2} size="h4">
              {EVENT_LABELS[delivery.event]}
            </Title>
            <StateBadge look={DELIVERY_LOOKS[delivery.state]} />
          </Group>
          <Facts
            facts={{
              Monitor: <MonitorName delivery={delivery} />,
              Time: <Time value={delivery.timestamp} />,
              Delivered: delivery.deliveredAt && <Time value={delivery.deliveredAt} />,
              'Next attempt': delivery.nextAttemptAt && <Time value={delivery.nextAttemptAt} />,
            }}
          />
          {can.change && <RedeliverButton delivery={delivery} channel={channel} />}
          {delivery.formatError !== null && (
            <Alert color="red" title="The standard payload is sent, because the template failed">
              {delivery.formatError}
            </Alert>
          )}
          <Payload payload={delivery.payload} />
          <Attempts attempts={delivery.attempts} />
        </Stack>
      )}
    </Loaded>
  );
}

function RedeliverButton(props: { readonly delivery: Delivery; readonly channel: Channel }): ReactNode {
  const { channel } = props;
  const { id } = props.delivery;
  const refresh = useRefresh();
  const redeliver = async (): Promise<void> => {
    await api('POST /api/dashboard/deliveries/:id/redeliver', { id });
    notifications.show({ message: 'The delivery will be sent again now.' });
    await refresh(deliveryQuery(id), channelQuery(channel.id));
  };
  return (
    <Stack gap="xs" align="flex-start">
      <ActionButton icon={IconRotateClockwise} disabled={!channel.enabled} action={redeliver}>
        Redeliver
      </ActionButton>
      {!channel.enabled && <Quiet size="xs">Enable the channel first.</Quiet>}
    </Stack>
  );
}

export function MonitorName({ delivery }: { readonly delivery: Delivery }): ReactNode {
  const { monitorId, test } = delivery;
  const { data: monitors } = useQuery(monitorsQuery);
  const monitor = monitors?.find(({ id }) => id === monitorId);
  if (test) return 'Test event';
  if (monitors !== undefined && monitor === undefined)
    return (
      <Quiet inline title={monitorId}>
        Deleted monitor
      </Quiet>
    );
  return (
    <TextLink to="/monitors/$monitorId" params={{ monitorId }} c="inherit" size="sm">
      {monitor?.name ?? monitorId}
    </TextLink>
  );
}

/** A webhook body, indented or exactly as sent. */
function Payload({ payload }: { readonly payload: string }): ReactNode {
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
            aria-label="Payload format"
            data={['Pretty', 'Raw']}
            value={raw ? 'Raw' : 'Pretty'}
            onChange={(value) => setRaw(value === 'Raw')}
          />
          <CopyButton value={text} what="the payload" />
        </Group>
      </Group>
      <TextBlock label="Payload">{text}</TextBlock>
    </Stack>
  );
}

function Attempts({ attempts }: Pick<DeliveryDetail, 'attempts'>): ReactNode {
  return (
    <Stack gap="sm">
      <Title order={3} size="h5">
        Attempts
      </Title>
      {attempts.length === 0 && <Quiet>No attempts yet.</Quiet>}
      {attempts.toReversed().map((attempt) => (
        <AttemptSummary key={attempt.number} attempt={attempt}>
          <Text size="sm" fw={500} className="tabular">
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

interface AttemptSummaryProps {
  readonly attempt: Attempt;
  /** Rendered before the status code. */
  readonly children: ReactNode;
}

export function AttemptSummary({ attempt, children }: AttemptSummaryProps): ReactNode {
  const { statusCode, durationMs, error, responseExcerpt } = attempt;
  return (
    <Stack gap={6}>
      <Group gap="md">
        {children}
        <Text size="sm" className="tabular">
          {statusCode === null ? 'No response' : `HTTP ${statusCode}`} · {durationMs} ms
        </Text>
      </Group>
      {error !== null && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {error}
        </Text>
      )}
      {responseExcerpt !== null && responseExcerpt !== '' && (
        <TextBlock label="Receiver response" mah={160}>
          {responseExcerpt}
        </TextBlock>
      )}
    </Stack>
  );
}
