import { Alert, Group, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconAlertTriangle, IconPlayerPause, IconPlayerPlay, IconSend } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api, isStatus } from '../api/request.ts';
import { ActionButton, IconButton } from '../components/buttons.tsx';
import { ConfirmButton, DeleteButton } from '../components/dialogs.tsx';
import { ErrorNotice, Loaded, NotFoundPage, Placeholder } from '../components/load-states.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { ManagedAsCode } from '../components/save-form.tsx';
import { Quiet, StateBadge, Time } from '../components/text.tsx';
import { CoveredCount } from '../labels/coverage-fields.tsx';
import { ChannelSettings } from './channel-settings.tsx';
import { channelState } from './channel-text.ts';
import { AttemptSummary } from './delivery-details.tsx';
import { DeliveryLog } from './delivery-log.tsx';
import { HeldAlerts } from './held-alerts.tsx';
import { channelQuery, channelsQuery } from './queries.ts';
import { SigningSecret } from './signing-secret.tsx';
import { ChannelStateBadge, DELIVERY_LOOKS } from './state-badges.tsx';
import { useCan } from '../session/session.ts';

const route = getRouteApi('/signed-in/channels/$channelId');

interface ChannelProps {
  readonly channel: Channel;
}

export function ChannelPage(): ReactNode {
  const { channelId } = route.useParams();
  const query = useQuery(channelQuery(channelId));
  const can = useCan();
  if (isStatus(query.error, 404)) return <NotFoundPage />;
  return (
    <Loaded query={query} pending={<Placeholder heights={[62, 184, 144, 145, 354]} />}>
      {(channel) => (
        <>
          <PageHeader
            title={channel.name}
            hint={
              <Group gap="sm">
                <ChannelStateBadge channel={channel} />
                <CoveredCount coverage={channel} />
              </Group>
            }
            actions={
              can.change && (
                <>
                  <EnableButton channel={channel} />
                  <DeleteButton
                    id={channelId}
                    name={channel.name}
                    title="Delete this channel"
                    remove={() => api('DELETE /api/dashboard/channels/:id', { id: channelId })}
                    listPath="/channels"
                    list={channelsQuery}
                    detail={channelQuery(channelId)}
                  >
                    The channel stops sending. Its delivery log and all held alerts are deleted.
                  </DeleteButton>
                </>
              )
            }
          />
          {/* The key resets edits, results and the secret when the channel changes. */}
          <Stack key={channel.id}>
            <StateAlert channel={channel} />
            {channel.formatError !== null && (
              <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title="The template failed">
                The standard payload was sent instead. Fix the template: {channel.formatError}
              </Alert>
            )}
            <HeldAlerts channel={channel} />
            {can.change && channel.source !== null && (
              <ManagedAsCode what="channel" source={channel.source} />
            )}
            <ChannelSettings channel={channel} />
            {can.change && <ChannelTest channelId={channel.id} />}
            <SigningSecret channelId={channel.id} />
            <DeliveryLog channel={channel} />
          </Stack>
        </>
      )}
    </Loaded>
  );
}

/** Explains why no webhooks arrive, and what to do. */
function StateAlert({ channel }: ChannelProps): ReactNode {
  const { disabledReason, failingSince } = channel;
  switch (channelState(channel)) {
    case 'working':
      return null;
    case 'failing':
      return (
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title="Webhooks are failing">
          Every attempt since {failingSince !== null && <Time value={failingSince} />} has failed. Tocsin
          keeps trying and disables the channel after 72 hours without a success. See the delivery log below
          for the responses.
        </Alert>
      );
    case 'disabled':
      return (
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title="Disabled by Tocsin">
          {disabledReason} New alerts are held. Fix the receiver, enable the channel, then send the held
          alerts.
        </Alert>
      );
    case 'switched-off':
      return (
        <Alert color="gray" icon={<IconPlayerPause aria-hidden />} title="Disabled manually">
          Nothing is sent. New alerts are held until you enable the channel and send them.
        </Alert>
      );
  }
}

function EnableButton({ channel: { id, name, enabled } }: ChannelProps): ReactNode {
  const refresh = useRefresh();
  const setEnabled = async (wanted: boolean): Promise<void> => {
    await api('PUT /api/dashboard/channels/:id', { id, body: { enabled: wanted } });
    await refresh(channelsQuery, channelQuery(id));
    notifications.show({ message: wanted ? 'Channel enabled.' : 'Channel disabled.' });
  };
  if (!enabled)
    return (
      <ActionButton variant="filled" icon={IconPlayerPlay} action={() => setEnabled(true)}>
        Enable
      </ActionButton>
    );
  return (
    <ConfirmButton
      button={{ icon: IconPlayerPause, children: 'Disable' }}
      title={`Disable ${name}?`}
      action="Disable"
      onConfirm={() => setEnabled(false)}
    >
      No alerts are sent to this channel until you enable it again. New alerts, and those that are still being
      retried, are held. After you enable the channel, you choose whether to send or discard them.
    </ConfirmButton>
  );
}

function ChannelTest({ channelId }: { readonly channelId: string }): ReactNode {
  const refresh = useRefresh();
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => api('POST /api/dashboard/channels/:id/test', { id: channelId }),
    onSettled: () => refresh(channelQuery(channelId)),
  });
  return (
    <Panel
      title="Test"
      actions={
        <IconButton size="xs" icon={IconSend} loading={isPending} onClick={() => mutate()}>
          Send a test event
        </IconButton>
      }
    >
      <div aria-live="polite">
        {isPending ? (
          <Quiet>Waiting for the receiver to respond…</Quiet>
        ) : error !== null ? (
          <ErrorNotice error={error} />
        ) : data !== undefined ? (
          <AttemptSummary attempt={data.attempt}>
            <StateBadge look={DELIVERY_LOOKS[data.delivered ? 'delivered' : 'failed']} />
          </AttemptSummary>
        ) : (
          <Quiet>Sends one signed test event, without retries. You can also test disabled channels.</Quiet>
        )}
      </div>
    </Panel>
  );
}
