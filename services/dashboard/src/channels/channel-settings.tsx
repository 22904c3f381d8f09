import { notifications } from '@mantine/notifications';
import { IconPencil, IconSend } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { listNames } from '../components/filter-monitors.ts';
import { ErrorNotice } from '../components/load-states.tsx';
import { Panel } from '../components/page.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { ChannelForm } from './channel-form.tsx';
import { describeMonitors } from './channel-text.ts';
import { AttemptSummary, Facts } from './delivery-details.tsx';
import { channelQuery, channelsQuery } from './queries.ts';
import { DeliveryStateBadge } from './state-badges.tsx';

const MAX_NAMES = 12;

/** The settings of a channel, and the form to change them. */
export function ChannelSettings({ channel }: { readonly channel: Channel }): ReactNode {
  const [editing, setEditing] = useState(false);
  const refresh = useRefresh();
  const { id, name, url, monitorIds, allMonitors } = channel;
  if (editing)
    return (
      <Panel title="Settings">
        <ChannelForm
          initialValues={{ name, url, monitorIds, allMonitors }}
          action="Save"
          save={async (body) => {
            await api('PATCH /api/dashboard/channels/:id', { id, body });
            await refresh(channelsQuery, channelQuery(id));
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
        <IconButton size="xs" icon={IconPencil} onClick={() => setEditing(true)}>
          Edit
        </IconButton>
      }
    >
      <Facts
        facts={{
          URL: url,
          Monitors: (
            <>
              {describeMonitors(channel)}
              {!allMonitors && <MonitorNames ids={monitorIds} />}
            </>
          ),
          Created: <Time value={channel.createdAt} />,
        }}
      />
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
