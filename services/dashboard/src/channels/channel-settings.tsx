import { Button, DataList, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPencil, IconSend } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { type ReactNode, useState } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { listNames } from '../components/filter-monitors.ts';
import { Panel } from '../components/panel.tsx';
import { Time } from '../components/time.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { ChannelForm } from './channel-form.tsx';
import { describeReach } from './channel-text.ts';
import { AttemptSummary } from './delivery-details.tsx';
import { channelQuery, testChannel, updateChannel, useChannelChanged } from './queries.ts';
import { DeliveryStateBadge } from './state-badges.tsx';

const MOST_NAMES = 12;

/** What a channel is, and the form to change it in its place. */
export function ChannelSettings({ channel }: { readonly channel: Channel }): ReactNode {
  const [editing, setEditing] = useState(false);
  const changed = useChannelChanged();
  const { id, name, url, monitorIds, allMonitors } = channel;
  if (!editing)
    return (
      <Panel
        title="Settings"
        actions={
          <Button
            variant="default"
            size="xs"
            leftSection={<IconPencil size={14} aria-hidden />}
            onClick={() => setEditing(true)}
          >
            Edit
          </Button>
        }
      >
        <DataList orientation="horizontal">
          <DataList.Item>
            <DataList.ItemLabel>URL</DataList.ItemLabel>
            <DataList.ItemValue style={{ overflowWrap: 'anywhere' }}>{url}</DataList.ItemValue>
          </DataList.Item>
          <DataList.Item>
            <DataList.ItemLabel>Monitors</DataList.ItemLabel>
            <DataList.ItemValue>
              <Reach channel={channel} />
            </DataList.ItemValue>
          </DataList.Item>
          <DataList.Item>
            <DataList.ItemLabel>Created</DataList.ItemLabel>
            <DataList.ItemValue>
              <Time value={channel.createdAt} />
            </DataList.ItemValue>
          </DataList.Item>
        </DataList>
      </Panel>
    );
  return (
    <Panel title="Settings">
      <ChannelForm
        initialValues={{ name, url, monitorIds, allMonitors }}
        action="Save"
        save={async (input) => {
          changed(await updateChannel(id, input));
          setEditing(false);
          notifications.show({ message: 'The channel is saved.' });
        }}
        onCancel={() => setEditing(false)}
      />
    </Panel>
  );
}

function Reach({ channel }: { readonly channel: Channel }): ReactNode {
  const { data: monitors } = useQuery(monitorsQuery);
  const ids = new Set(channel.monitorIds);
  const names = (monitors ?? []).filter(({ id }) => ids.has(id)).map(({ name }) => name);
  return (
    <>
      {describeReach(channel)}
      {!channel.allMonitors && names.length > 0 && (
        <Text size="sm" c="var(--text-quiet)">
          {listNames(names, MOST_NAMES)}
        </Text>
      )}
    </>
  );
}

/** Sends a test event and shows what came of it. */
export function ChannelTest({ channelId }: { readonly channelId: string }): ReactNode {
  const queryClient = useQueryClient();
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => testChannel(channelId),
    onSettled: () => queryClient.invalidateQueries({ queryKey: channelQuery(channelId).queryKey }),
  });
  return (
    <Panel
      title="Test"
      actions={
        <Button
          size="xs"
          variant="default"
          leftSection={<IconSend size={14} aria-hidden />}
          loading={isPending}
          onClick={() => mutate()}
        >
          Send a test event
        </Button>
      }
    >
      <div aria-live="polite">
        {error !== null && !isPending ? (
          <ErrorNotice error={error} />
        ) : data !== undefined && !isPending ? (
          <AttemptSummary attempt={data.attempt}>
            <DeliveryStateBadge state={data.delivered ? 'delivered' : 'failed'} />
          </AttemptSummary>
        ) : (
          <Text size="sm" c="var(--text-quiet)">
            {isPending
              ? 'Waiting for the answer of the receiver…'
              : 'A signed event that says it is a test, sent once, to a channel that is disabled too.'}
          </Text>
        )}
      </div>
    </Panel>
  );
}
