import { Checkbox, Group, Stack } from '@mantine/core';
import { IconSend } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { ReactNode } from 'react';
import { api, describeError } from '../../api/request.ts';
import { channelState } from '../../channels/channel-text.ts';
import { channelsQuery } from '../../channels/queries.ts';
import { ChannelStateBadge, DELIVERY_LOOKS } from '../../channels/state-badges.tsx';
import { IconButton } from '../../components/buttons.tsx';
import { describeCause } from '../../components/format.ts';
import { Loaded, Placeholder } from '../../components/load-states.tsx';
import { Panel } from '../../components/page.tsx';
import { Quiet, StateBadge, TextLink } from '../../components/text.tsx';
import { type ChannelChoices, chosenChannels, coverageNote } from './channel-choices.ts';

interface ChannelPickerProps {
  readonly labels: Labels;
  /** See `chosenChannels`. */
  readonly monitorId: string | null;
  readonly choices: ChannelChoices;
  readonly onChange: (choices: ChannelChoices) => void;
}

export function ChannelPicker({ labels, monitorId, choices, onChange }: ChannelPickerProps): ReactNode {
  const query = useQuery(channelsQuery);
  const none = (
    <Quiet>
      No channels yet. <TextLink to="/channels/new">Create one</TextLink> to get alerts.
    </Quiet>
  );
  return (
    <Panel title="Channels">
      <Loaded query={query} pending={<Placeholder heights={[60]} />} empty={none}>
        {(channels) => (
          <Stack gap="sm" role="group" aria-label="Channels">
            <Quiet>The selected channels receive the alerts of this monitor.</Quiet>
            {channels.map((channel) => {
              const note = coverageNote(channel, labels);
              const isListed = chosenChannels([channel], monitorId, choices).length > 0;
              return (
                <Group key={channel.id} justify="space-between" gap="xs">
                  <Checkbox
                    label={channel.name}
                    description={note}
                    checked={isListed || note !== null}
                    disabled={note !== null}
                    // A disabled checkbox keeps the normal text color.
                    styles={{ label: { color: 'var(--mantine-color-text)' } }}
                    onChange={() => onChange({ ...choices, [channel.id]: !isListed })}
                  />
                  <ChannelTest channel={channel} />
                </Group>
              );
            })}
          </Stack>
        )}
      </Loaded>
    </Panel>
  );
}

function ChannelTest({ channel }: { readonly channel: Channel }): ReactNode {
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => api('POST /api/dashboard/channels/:id/test', { id: channel.id }),
  });
  return (
    <Group gap="sm">
      <div aria-live="polite">
        {data !== undefined ? (
          <StateBadge look={DELIVERY_LOOKS[data.delivered ? 'delivered' : 'failed']} />
        ) : (
          channelState(channel) !== 'working' && <ChannelStateBadge channel={channel} />
        )}
        {data?.delivered === false && <Quiet size="xs">{describeCause(null, data.attempt.error)}</Quiet>}
        {error !== null && <Quiet size="xs">{describeError(error)}</Quiet>}
      </div>
      <IconButton
        size="compact-xs"
        icon={IconSend}
        loading={isPending}
        onClick={() => mutate()}
        aria-label={`Send a test event to ${channel.name}`}
      >
        Test
      </IconButton>
    </Group>
  );
}
