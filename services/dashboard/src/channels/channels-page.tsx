import { Button, Stack, Text } from '@mantine/core';
import { IconPlus, IconWebhook } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ReactNode } from 'react';
import { Loaded } from '../components/load-states.tsx';
import { DataTable, EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, TextLink, Time } from '../components/text.tsx';
import { channelState, describeMonitors } from './channel-text.ts';
import { channelsQuery } from './queries.ts';
import { ChannelStateBadge } from './state-badges.tsx';

export function ChannelsPage(): ReactNode {
  const query = useQuery(channelsQuery);
  return (
    <>
      <PageHeader
        title="Channels"
        hint="Webhook endpoints that receive alerts when a monitor goes down or recovers."
        actions={
          <Button component={Link} to="/channels/new" leftSection={<IconPlus size={16} aria-hidden />}>
            New channel
          </Button>
        }
      />
      <Loaded query={query} pending={<ChannelTable channels={undefined} />}>
        {(channels) =>
          channels.length === 0 ? (
            <EmptyState
              icon={IconWebhook}
              title="No channels yet"
              action={
                <Button component={Link} to="/channels/new">
                  Create the first channel
                </Button>
              }
            >
              A channel is an HTTPS URL that receives a signed webhook for each outage and recovery.
            </EmptyState>
          ) : (
            <ChannelTable channels={channels} />
          )
        }
      </Loaded>
    </>
  );
}

/** @param props.channels undefined while they load */
function ChannelTable({ channels }: { readonly channels: readonly Channel[] | undefined }): ReactNode {
  return (
    <Panel>
      <DataTable
        label="Channels"
        rows={channels}
        rowKey={({ id }) => id}
        columns={[
          {
            title: 'Name',
            render: ({ id, name }) => (
              <TextLink to="/channels/$channelId" params={{ channelId: id }} fw={600}>
                {name}
              </TextLink>
            ),
          },
          {
            title: 'State',
            render: (channel) => (
              <Stack gap={2}>
                <ChannelStateBadge channel={channel} />
                <StateNote channel={channel} />
              </Stack>
            ),
          },
          { title: 'Monitors', render: describeMonitors },
          {
            title: 'Receiver',
            render: ({ url }) => (
              <Text size="sm" c="var(--text-quiet)" maw={360} truncate="start" title={url}>
                {new URL(url).host}
              </Text>
            ),
          },
        ]}
      />
    </Panel>
  );
}

function StateNote({ channel }: { readonly channel: Channel }): ReactNode {
  const { disabledReason, failingSince } = channel;
  if (disabledReason !== null)
    return (
      <Quiet inline size="xs">
        {disabledReason}
      </Quiet>
    );
  if (channelState(channel) !== 'failing' || failingSince === null) return null;
  return (
    <Quiet inline size="xs">
      first failed <Time value={failingSince} as="ago" />
    </Quiet>
  );
}
