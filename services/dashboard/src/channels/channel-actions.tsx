import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import type { Channel } from '@tocsin/contracts/channel';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { describeError } from '../api/api-error.ts';
import { DeleteButton } from '../components/delete-button.tsx';
import { channelQuery, channelsQuery, deleteChannel, updateChannel } from './queries.ts';
import { useChannelChanged } from './use-channel-changed.ts';

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
