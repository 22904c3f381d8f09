import type { Channel } from '@tocsin/contracts/channel';
import type { ChannelRow } from './table.ts';

/** The wire record of a channel: without its secrets. */
export function toChannel(row: ChannelRow, monitorIds: readonly string[]): Channel {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    monitorIds: [...monitorIds],
    allMonitors: row.allMonitors,
    enabled: row.enabled,
    disabledReason: row.disabledReason,
    failingSince: row.failingSince?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
