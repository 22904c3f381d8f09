import type { Channel } from '@tocsin/contracts/channel';
import { useQueryClient } from '@tanstack/react-query';
import { channelQuery, channelsQuery } from './queries.ts';

/** @returns what shows a channel as the server has it now, on every page */
export function useChannelChanged(): (channel: Channel) => void {
  const queryClient = useQueryClient();
  return (channel) => {
    queryClient.setQueryData(channelQuery(channel.id).queryKey, channel);
    void queryClient.invalidateQueries({ queryKey: channelsQuery.queryKey });
    // Switching off holds what was pending.
    void queryClient.invalidateQueries({ queryKey: [...channelQuery(channel.id).queryKey, 'deliveries'] });
  };
}
