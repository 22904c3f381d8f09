import { Alert, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPlayerPause, IconSend, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { MAX_HELD_COUNT } from '@tocsin/contracts/deliveries/delivery';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { ActionButton } from '../components/buttons.tsx';
import { ConfirmButton } from '../components/dialogs.tsx';
import { formatCount, formatNumber } from '../components/format.ts';
import { Time } from '../components/text.tsx';
import { channelQuery, describeRedelivery, heldQuery, redeliverAll } from './queries.ts';
import { useCan } from '../session/session.ts';

const END_OF_TIME = '9999-01-01T00:00:00Z';

/** Sends or discards the held alerts of a channel. Renders nothing if there are none. */
export function HeldAlerts({ channel: { id, enabled } }: { readonly channel: Channel }): ReactNode {
  const { data } = useQuery(heldQuery(id));
  const refresh = useRefresh();
  const can = useCan();
  if (data === undefined || data.since === null) return null;
  const { count, since } = data;
  const held =
    count < MAX_HELD_COUNT ? formatCount(count, 'held alert') : `${formatNumber(count)} or more held alerts`;
  const send = async (): Promise<void> => {
    const body = { since, until: END_OF_TIME, states: ['held' as const] };
    const result = await redeliverAll(() =>
      api('POST /api/dashboard/channels/:id/redeliver', { id, body }),
    ).finally(() => void refresh(channelQuery(id)));
    notifications.show({ message: describeRedelivery(result) });
  };
  const discard = async (): Promise<void> => {
    let isDone = false;
    while (!isDone)
      isDone = !(await api('POST /api/dashboard/channels/:id/held-deliveries/discard', { id })).more;
    await refresh(channelQuery(id));
    notifications.show({ message: 'Held alerts discarded.' });
  };
  return (
    <Alert color="gray" icon={<IconPlayerPause aria-hidden />} title={held}>
      <Group justify="space-between" gap="md">
        <Text size="sm" style={{ flex: '1 1 260px' }}>
          Held since <Time value={since} />, while the channel was disabled.{' '}
          {enabled ? 'They are not sent until you send them.' : 'Enable the channel to send them.'}
        </Text>
        {can.change && (
          <Group gap="xs">
            {enabled && (
              <ActionButton variant="filled" icon={IconSend} action={send}>
                Send {held}
              </ActionButton>
            )}
            <ConfirmButton
              button={{ icon: IconTrash, children: 'Discard' }}
              title={`Discard ${held}?`}
              action="Discard"
              onConfirm={discard}
            >
              They are marked as failed and are not sent. They stay in the delivery log, where you can
              redeliver them.
            </ConfirmButton>
          </Group>
        )}
      </Group>
    </Alert>
  );
}
