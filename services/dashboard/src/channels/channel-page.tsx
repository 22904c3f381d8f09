import { Alert, Group, Skeleton, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconPlayerPause } from '@tabler/icons-react';
import type { Channel } from '@tocsin/contracts/channel';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { isStatus } from '../api/api-error.ts';
import { NotFoundPage } from '../app/page-states.tsx';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { Time } from '../components/time.tsx';
import { ChannelActions } from './channel-actions.tsx';
import { ChannelSettings } from './channel-settings.tsx';
import { ChannelStateBadge } from './channel-state-badge.tsx';
import { channelState, describeReach } from './channel-state.ts';
import { ChannelTest } from './channel-test.tsx';
import { DeliveryLog } from './delivery-log.tsx';
import { channelQuery } from './queries.ts';
import { SigningSecret } from './signing-secret.tsx';

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
