import { Stack } from '@mantine/core';
import { IconPlus, IconWebhook } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ReactNode } from 'react';
import { LinkButton } from '../components/buttons.tsx';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, TextLink, Time } from '../components/text.tsx';
import { channelState } from './channel-text.ts';
import { CoveredCount, SelectorNote } from '../labels/coverage-fields.tsx';
import { channelsQuery } from './queries.ts';
import { ChannelStateBadge } from './state-badges.tsx';
import { useCan } from '../session/session.ts';

export function ChannelsPage(): ReactNode {
  const query = useQuery(channelsQuery);
  const create = useCan().change && (
    <LinkButton variant="filled" icon={IconPlus} to="/channels/new">
      New channel
    </LinkButton>
  );
  const empty = (
    <EmptyState icon={IconWebhook} title="No channels yet" action={create}>
      A channel is an HTTPS URL that receives a signed webhook for each outage and recovery.
    </EmptyState>
  );
  return (
    <>
      <PageHeader
        title="Channels"
        hint="Webhooks for outages and recoveries"
        actions={query.data?.length !== 0 && create}
      />
      <Loaded query={query} pending={<Placeholder heights={[220]} />} empty={empty}>
        {(channels) => (
          <Panel>
            <DataTable
              label="Channels"
              rows={channels}
              rowKey={({ id }) => id}
              columns={{
                Name: ({ id, name }) => (
                  <TextLink to="/channels/$channelId" params={{ channelId: id }} fw={500}>
                    {name}
                  </TextLink>
                ),
                State: (channel) => (
                  <Stack gap={0}>
                    <ChannelStateBadge channel={channel} />
                    <StateNote channel={channel} />
                  </Stack>
                ),
                Monitors: (channel) => (
                  <div>
                    <CoveredCount coverage={channel} />
                    <SelectorNote coverage={channel} />
                  </div>
                ),
                Receiver: ({ url }) => (
                  <Quiet maw={360} truncate="start" title={url}>
                    {new URL(url).host}
                  </Quiet>
                ),
              }}
            />
          </Panel>
        )}
      </Loaded>
    </>
  );
}

function StateNote({ channel }: { readonly channel: Channel }): ReactNode {
  const { disabledReason, failingSince } = channel;
  const isFailing = channelState(channel) === 'failing' && failingSince !== null;
  if (disabledReason === null && !isFailing) return null;
  return (
    <Quiet inline size="xs">
      {disabledReason}
      {isFailing && (
        <>
          first failed <Time value={failingSince} as="ago" />
        </>
      )}
    </Quiet>
  );
}
