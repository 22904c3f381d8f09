import { Button, DataList } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPencil, IconSend } from '@tabler/icons-react';
import type { Channel } from '@tocsin/contracts/channel';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { listNames } from '../components/filter-monitors.ts';
import { Panel } from '../components/panel.tsx';
import { Quiet } from '../components/quiet.tsx';
import { Time } from '../components/time.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { ChannelForm } from './channel-form.tsx';
import { describeMonitors } from './channel-text.ts';
import { AttemptSummary, Fact } from './delivery-details.tsx';
import { channelQuery, testChannel, updateChannel, useChannelChanged } from './queries.ts';
import { DeliveryStateBadge } from './state-badges.tsx';

const MAX_NAMES = 12;

/** The settings of a channel, and the form to change them. */
export function ChannelSettings({ channel }: { readonly channel: Channel }): ReactNode {
  const [editing, setEditing] = useState(false);
  const showChannel = useChannelChanged();
  const { id, name, url, monitorIds, allMonitors } = channel;
  if (editing)
    return (
      <Panel title="Settings">
        <ChannelForm
          initialValues={{ name, url, monitorIds, allMonitors }}
          action="Save"
          save={async (input) => {
            showChannel(await updateChannel(id, input));
            setEditing(false);
            notifications.show({ message: 'Channel saved.' });
          }}
          onCancel={() => setEditing(false)}
        />
      </Panel>
    );
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
        <Fact label="URL">{url}</Fact>
        <Fact label="Monitors">
          {describeMonitors(channel)}
          {!allMonitors && <MonitorNames ids={monitorIds} />}
        </Fact>
        <Fact label="Created">
          <Time value={channel.createdAt} />
        </Fact>
      </DataList>
    </Panel>
  );
}

function MonitorNames({ ids }: { readonly ids: readonly string[] }): ReactNode {
  const { data: monitors = [] } = useQuery(monitorsQuery);
  const names = monitors.filter(({ id }) => ids.includes(id)).map(({ name }) => name);
  return names.length > 0 && <Quiet>{listNames(names, MAX_NAMES)}</Quiet>;
}

/** Sends a test event and shows the response. */
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
        {isPending ? (
          <Quiet>Waiting for the response of the receiver…</Quiet>
        ) : error !== null ? (
          <ErrorNotice error={error} />
        ) : data !== undefined ? (
          <AttemptSummary attempt={data.attempt}>
            <DeliveryStateBadge state={data.delivered ? 'delivered' : 'failed'} />
          </AttemptSummary>
        ) : (
          <Quiet>Sends one signed test event, without retries. Disabled channels can be tested, too.</Quiet>
        )}
      </div>
    </Panel>
  );
}
