import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconAlertTriangle, IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ReactNode } from 'react';
import { describeError, isStatus } from '../api/api-error.ts';
import { NotFoundPage } from '../app/page-states.tsx';
import { DeleteButton } from '../components/delete-button.tsx';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { Time } from '../components/time.tsx';
import { ChannelSettings, ChannelTest } from './channel-settings.tsx';
import { channelState, describeReach } from './channel-text.ts';
import { DeliveryLog } from './delivery-log.tsx';
import { channelQuery, channelsQuery, deleteChannel, updateChannel, useChannelChanged } from './queries.ts';
import { SigningSecret } from './signing-secret.tsx';
import { ChannelStateBadge } from './state-badges.tsx';

const route = getRouteApi('/signed-in/channels/$channelId');

export function ChannelPage(): ReactNode {
  const { channelId } = route.useParams();
  const query = useQuery(channelQuery(channelId));
  if (isStatus(query.error, 404)) return <NotFoundPage />;
  return (
    <Loaded query={query} pending={<Placeholder />}>
      {(channel) => <ChannelView channel={channel} />}
    </Loaded>
  );
}

function ChannelView({ channel }: { readonly channel: Channel }): ReactNode {
  return (
    <>
      <PageHeader
        title={channel.name}
        hint={
          <Group gap="sm">
            <ChannelStateBadge channel={channel} />
            <span>{describeReach(channel)}</span>
          </Group>
        }
        actions={<ChannelActions channel={channel} />}
      />
      <Stack>
        <StateNotice channel={channel} />
        <ChannelSettings channel={channel} />
        <ChannelTest key={channel.id} channelId={channel.id} />
        <SigningSecret key={`${channel.id} secret`} channelId={channel.id} />
        <DeliveryLog channel={channel} />
      </Stack>
    </>
  );
}

/** Why nothing arrives, and what to do. */
function StateNotice({ channel }: { readonly channel: Channel }): ReactNode {
  const { disabledReason, failingSince } = channel;
  switch (channelState(channel)) {
    case 'working':
      return null;
    case 'failing':
      return (
        <Alert
          color="red"
          variant="light"
          icon={<IconAlertTriangle aria-hidden />}
          title="Webhooks do not arrive"
        >
          {failingSince !== null && <FailingText since={failingSince} />}
        </Alert>
      );
    case 'disabled':
      return (
        <Alert
          color="red"
          variant="light"
          icon={<IconAlertTriangle aria-hidden />}
          title="Disabled by Tocsin"
        >
          <Text size="sm">
            {disabledReason} What happens meanwhile is held. Mend the receiver, enable the channel, then
            redeliver what was held.
          </Text>
        </Alert>
      );
    case 'switched-off':
      return (
        <Alert color="gray" variant="light" icon={<IconPlayerPause aria-hidden />} title="Disabled by hand">
          <Text size="sm">Nothing is sent. What happens meanwhile is held until it is redelivered.</Text>
        </Alert>
      );
  }
}

function FailingText({ since }: { readonly since: string }): ReactNode {
  return (
    <Text size="sm">
      Every attempt since <Time value={since} /> failed. It goes on trying; after 72 hours without one success
      the channel is disabled. The delivery log below says what the receiver answers.
    </Text>
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

/** Switching a channel on and off, and deleting it. */
export function ChannelActions({ channel }: { readonly channel: Channel }): ReactNode {
  const changed = useChannelChanged();
  const { enabled } = channel;
  const turn = useMutation({
    mutationFn: () => updateChannel(channel.id, { enabled: !enabled }),
    onSuccess: (after) => {
      changed(after);
      notifications.show({
        message: after.enabled
          ? 'The channel is enabled. What was held stays so until you redeliver it.'
          : 'The channel is disabled. What happens now is held.',
      });
    },
    onError: (error) => notifications.show({ color: 'red', message: describeError(error) }),
  });
  return (
    <>
      <Button
        variant={enabled ? 'default' : 'filled'}
        loading={turn.isPending}
        onClick={() => turn.mutate()}
        leftSection={
          enabled ? <IconPlayerPause size={16} aria-hidden /> : <IconPlayerPlay size={16} aria-hidden />
        }
      >
        {enabled ? 'Disable' : 'Enable'}
      </Button>
      <DeleteChannel channel={channel} />
    </>
  );
}

function DeleteChannel({ channel: { id, name } }: { readonly channel: Channel }): ReactNode {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return (
    <DeleteButton
      name={name}
      title="Delete this channel"
      remove={() => deleteChannel(id)}
      onDeleted={async () => {
        await navigate({ to: '/channels', ignoreBlocker: true });
        queryClient.removeQueries({ queryKey: channelQuery(id).queryKey });
        void queryClient.invalidateQueries({ queryKey: channelsQuery.queryKey });
      }}
    >
      It sends nothing more, and its delivery log goes, with what was held.
    </DeleteButton>
  );
}
