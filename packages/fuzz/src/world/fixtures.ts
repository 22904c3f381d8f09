import { checkOf } from '@tocsin/api/testing/monitors';
import { createMonitorSchema } from '@tocsin/contracts/monitor';
import { createApiKey } from '@tocsin/db/api-keys/create-api-key';
import { createChannel } from '@tocsin/db/channels/create-channel';
import { getChannel } from '@tocsin/db/channels/get-channel';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { createInvitation } from '@tocsin/db/invitations/create-invitation';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/create-maintenance-window';
import { createMonitor } from '@tocsin/db/monitors/create-monitor';
import { createUser } from '@tocsin/db/users/create-user';
import { randomUUID } from 'node:crypto';
import type { Account } from './account.ts';
import type { Pools } from './pools.ts';
import type { FuzzSystem } from './system.ts';

/**
 * Gives an empty account one of each kind, and a monitor more.
 * @param marker stands in the fields of all of them
 */
export async function furnish(
  system: FuzzSystem,
  account: Account,
  pools: Pools,
  marker: string,
): Promise<void> {
  const { context, database } = system;
  const accountId = account.id;
  for (const headers of [null, { Authorization: `Bearer ${marker}` }]) {
    const input = createMonitorSchema.parse({ name: marker, url: `https://${marker}.invalid/`, headers });
    const { monitor } = await createMonitor(context, accountId, input, 'default');
    pools.add('monitor', monitor.id, { ...monitor });
  }
  const [monitorId = ''] = pools.ids('monitor');
  const url = `https://${marker}.invalid/hook`;
  const channel = await createChannel(context, { accountId, name: marker, url, monitorIds: [monitorId] });
  pools.add('channel', channel.id, { ...(await getChannel(context.db, accountId, channel.id)) });
  pools.secrets.add(channel.secret);
  const failure = { status: 'DOWN', statusCode: 500, errorReason: 'HTTP_500' } as const;
  await recordChecks(context.db, [checkOf(monitorId, failure)]);
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from incidents where account_id = $1',
    [accountId],
  );
  for (const { id } of rows) pools.add('incident', id, null);
  pools.add('delivery', await failDelivery(system, accountId, channel.id, monitorId), null);
  await furnishPeople(system, account, pools, marker);
  const window = await createMaintenanceWindow(context.db, accountId, {
    name: marker,
    startsAt: inHours(1),
    endsAt: inHours(2),
    monitorIds: [monitorId],
    rrule: null,
    timeZone: 'UTC',
  });
  pools.add('maintenanceWindow', window.id, { ...window });
}

/** On a whole second. */
function inHours(hours: number): Date {
  return new Date(Math.ceil(Date.now() / 1_000) * 1_000 + hours * 3_600_000);
}

/** Dispatching what is due would reach into other accounts, too. */
async function failDelivery(
  { database }: FuzzSystem,
  accountId: string,
  channelId: string,
  monitorId: string,
): Promise<string> {
  const id = randomUUID();
  await database.pool.query(
    `insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state)
     values ($1, $2, $3, $1, $4, 'monitor.down', date_trunc('milliseconds', now()), '{}', 'failed')`,
    [id, accountId, channelId, monitorId],
  );
  return id;
}

async function furnishPeople(
  { context }: FuzzSystem,
  account: Account,
  pools: Pools,
  marker: string,
): Promise<void> {
  const { db } = context;
  const accountId = account.id;
  const { apiKey, key } = await createApiKey(db, { accountId, name: marker });
  pools.add('apiKey', apiKey.id, null);
  pools.secrets.add(key);
  const user = await createUser(db, {
    accountId,
    role: 'member',
    name: marker,
    email: `${randomUUID()}@${marker}.example`,
    emailVerified: false,
    passwordHash: null,
  });
  pools.add('user', user.id, null);
  const { invitation, token } = await createInvitation(db, {
    accountId,
    role: 'member',
    email: null,
    createdBy: account.owner.id,
  });
  pools.add('invitation', invitation.id, null);
  pools.add('token', token, null);
  pools.secrets.add(token);
}
