import { Alert, Group, Skeleton, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconAlertTriangle, IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { showError, useRefresh } from '../api/mutations.ts';
import { api, isStatus } from '../api/request.ts';
import { Loaded, NotFoundPage } from '../components/load-states.tsx';
import { IconButton } from '../components/buttons.tsx';
import { DeleteButton } from '../components/confirm-dialog.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { Time } from '../components/time.tsx';
import { ChannelSettings, ChannelTest } from './channel-settings.tsx';
import { channelState, describeMonitors } from './channel-text.ts';
import { DeliveryLog } from './delivery-log.tsx';
import { channelQuery, channelsQuery } from './queries.ts';
import { SigningSecret } from './signing-secret.tsx';
import { ChannelStateBadge } from './state-badges.tsx';

const route = getRouteApi('/signed-in/channels/$channelId');

interface ChannelProps {
  readonly channel: Channel;
}

export function ChannelPage(): ReactNode {
  const { channelId } = route.useParams();
  const query = useQuery(channelQuery(channelId));
  if (isStatus(query.error, 404)) return <NotFoundPage />;
  return (
    <Loaded query={query} pending={<Placeholder />}>
      {(channel) => (
        <>
          <PageHeader
            title={channel.name}
            hint={
              <Group gap="sm">
                <ChannelStateBadge channel={channel} />
                <span>{describeMonitors(channel)}</span>
              </Group>
            }
            actions={
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
            }
          />
          {/* Another channel must not show the edits, results or secret of this one. */}
          <Stack key={channel.id}>
            <StateAlert channel={channel} />
            <ChannelSettings channel={channel} />
            <ChannelTest channelId={channel.id} />
            <SigningSecret channelId={channel.id} />
            <DeliveryLog channel={channel} />
          </Stack>
        </>
      )}
    </Loaded>
  );
}

/** Why no webhooks arrive, and what to do. */
function StateAlert({ channel }: ChannelProps): ReactNode {
  const { disabledReason, failingSince } = channel;
  switch (channelState(channel)) {
    case 'working':
      return null;
    case 'failing':
      return (
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title="Webhooks do not arrive">
          {failingSince !== null && (
            <Text size="sm">
              Every attempt since <Time value={failingSince} /> has failed. Tocsin keeps trying and disables
              the channel after 72 hours without a success. See the delivery log below for the responses.
            </Text>
          )}
        </Alert>
      );
    case 'disabled':
      return (
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title="Disabled by Tocsin">
          <Text size="sm">
            {disabledReason} New alerts are held. Fix the receiver, enable the channel, then redeliver the
            held alerts.
          </Text>
        </Alert>
      );
    case 'switched-off':
      return (
        <Alert color="gray" icon={<IconPlayerPause aria-hidden />} title="Disabled by hand">
          <Text size="sm">Nothing is sent. New alerts are held until you redeliver them.</Text>
        </Alert>
      );
  }
}

function EnableButton({ channel: { id, enabled } }: ChannelProps): ReactNode {
  const refresh = useRefresh();
  const toggle = useMutation({
    mutationFn: () => api('PATCH /api/dashboard/channels/:id', { id, body: { enabled: !enabled } }),
    onSuccess: async ({ channel }) => {
      await refresh(channelsQuery, channelQuery(id));
      notifications.show({
        message: channel.enabled
          ? 'Channel enabled. Held alerts are not sent until you redeliver them.'
          : 'Channel disabled. New alerts are held.',
      });
    },
    onError: showError,
  });
  return (
    <IconButton
      variant={enabled ? 'default' : 'filled'}
      icon={enabled ? IconPlayerPause : IconPlayerPlay}
      loading={toggle.isPending}
      onClick={() => toggle.mutate()}
    >
      {enabled ? 'Disable' : 'Enable'}
    </IconButton>
  );
}

function Placeholder(): ReactNode {
  return (
    <>
      <Skeleton height={34} width={260} mb={8} />
      <Skeleton height={20} width={160} mb="md" />
      <Stack>
        {[150, 110, 111, 320].map((height) => (
          <Panel key={height}>
            <Skeleton height={height} />
          </Panel>
        ))}
      </Stack>
    </>
  );
}
