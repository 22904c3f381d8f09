import type { Channel } from '@tocsin/contracts/channel';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { ChannelForm } from './channel-form.tsx';
import { channelQuery, channelsQuery, createChannel } from './queries.ts';
import { SecretModal } from './secret-modal.tsx';

const EMPTY = { name: '', url: '', monitorIds: [], allMonitors: true };

export function NewChannelPage(): ReactNode {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [made, setMade] = useState<{ channel: Channel; secret: string } | null>(null);
  return (
    <>
      <PageHeader title="New channel" hint="An https address that is told of outages and recoveries." />
      <Panel>
        <ChannelForm
          initialValues={EMPTY}
          action="Create channel"
          save={async (input) => {
            const answer = await createChannel(input);
            queryClient.setQueryData(channelQuery(answer.channel.id).queryKey, answer.channel);
            void queryClient.invalidateQueries({ queryKey: channelsQuery.queryKey });
            setMade(answer);
          }}
          onCancel={() => void navigate({ to: '/channels' })}
        />
      </Panel>
      <SecretModal
        title="The channel is made: here is its signing secret"
        secret={made?.secret ?? null}
        onClose={() => {
          if (made !== null)
            void navigate({ to: '/channels/$channelId', params: { channelId: made.channel.id } });
        }}
      />
    </>
  );
}
