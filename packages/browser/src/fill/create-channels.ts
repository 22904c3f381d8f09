import type { Channel } from '@tocsin/contracts/channel';
import type { DashboardClient } from '../system/dashboard-client.ts';
import type { DashboardSystem } from '../system/dashboard-system.ts';

const STATUS_BY_PATH: Readonly<Record<string, number>> = { '/data-team': 500, '/pager': 410 };

interface Channels {
  readonly working: Channel;
  readonly failing: Channel;
  /** Its receiver answers 410: the first webhook disables it. */
  readonly disabled: Channel;
}

/** A channel that works, one that fails, and one that will be disabled. */
export async function createChannels(
  { receiver }: DashboardSystem,
  owner: DashboardClient,
  downId: string,
): Promise<Channels> {
  receiver.answer = ({ path }, response) => {
    const status = STATUS_BY_PATH[path] ?? 200;
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(`{"status":${status}}`);
  };
  const create = async (name: string, path: string, monitorIds: string[]): Promise<Channel> => {
    const body = { name, url: receiver.url(path), monitorIds, allMonitors: monitorIds.length === 0 };
    return (await owner.request<{ channel: Channel }>('POST', '/channels', body)).channel;
  };
  return {
    disabled: await create('Old pager', '/pager', [downId]),
    failing: await create('Data team', '/data-team', [downId]),
    working: await create('On call', '/on-call', []),
  };
}
