import { Button, Skeleton, Stack, Table, Text } from '@mantine/core';
import { IconPlus, IconWebhook } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ReactNode } from 'react';
import { CardCell, CardTable } from '../components/card-table.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { TextLink } from '../components/text-link.tsx';
import { Time } from '../components/time.tsx';
import { describeReach } from './channel-text.ts';
import { channelsQuery } from './queries.ts';
import { ChannelStateBadge } from './state-badges.tsx';

const COLUMNS = ['Name', 'State', 'Monitors', 'Receiver'];

export function ChannelsPage(): ReactNode {
  const query = useQuery(channelsQuery);
  return (
    <>
      <PageHeader
        title="Channels"
        hint="Where webhooks go when a monitor goes down and comes back."
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
              title="Nobody is told yet"
              action={
                <Button component={Link} to="/channels/new">
                  Create the first channel
                </Button>
              }
            >
              A channel is an https address of yours that gets a signed webhook for each outage and recovery.
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
      <CardTable label="Channels" columns={COLUMNS}>
        {channels === undefined ? (
          <Placeholders />
        ) : (
          channels.map((one) => <Row key={one.id} channel={one} />)
        )}
      </CardTable>
    </Panel>
  );
}

function Row({ channel }: { readonly channel: Channel }): ReactNode {
  return (
    <Table.Tr>
      <CardCell column="Name" heading>
        <TextLink to="/channels/$channelId" params={{ channelId: channel.id }} fw={600}>
          {channel.name}
        </TextLink>
      </CardCell>
      <CardCell column="State">
        <Stack gap={2}>
          <ChannelStateBadge channel={channel} />
          <StateNote channel={channel} />
        </Stack>
      </CardCell>
      <CardCell column="Monitors">{describeReach(channel)}</CardCell>
      <CardCell column="Receiver">
        <Text size="sm" c="var(--text-quiet)" maw={360} truncate="start" title={channel.url}>
          {new URL(channel.url).host}
        </Text>
      </CardCell>
    </Table.Tr>
  );
}

function StateNote({ channel }: { readonly channel: Channel }): ReactNode {
  const { enabled, disabledReason, failingSince } = channel;
  if (disabledReason === null && (failingSince === null || !enabled)) return null;
  return (
    <Text size="xs" c="var(--text-quiet)" component="span">
      {disabledReason ??
        (failingSince !== null && (
          <>
            first failed <Time value={failingSince} as="ago" />
          </>
        ))}
    </Text>
  );
}

function Placeholders(): ReactNode {
  return [0, 1, 2].map((row) => (
    <Table.Tr key={row}>
      {COLUMNS.map((column) => (
        <CardCell key={column} column={column}>
          <Skeleton height={20} />
        </CardCell>
      ))}
    </Table.Tr>
  ));
}
