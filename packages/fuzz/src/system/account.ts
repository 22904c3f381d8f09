import { randomInt, randomUUID } from 'node:crypto';
import { checkOf } from '@tocsin/api/testing/monitors';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { createApiKey, deleteApiKey } from '@tocsin/db/api-keys/api-keys';
import { getChannel } from '@tocsin/db/channels/read-channels';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/write-windows';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { createInvitation } from '@tocsin/db/users/invitations';
import { createUser } from '@tocsin/db/users/users';
import type { Model } from '../oracle/model.ts';
import type { WireClient } from '../wire/send.ts';
import type { FuzzSystem } from './system.ts';

const PASSWORD = 'correct horse battery staple';

interface Actor {
  readonly id: string;
  readonly cookie: string;
}

/** An account with everyone who sends requests for it. */
export interface Account {
  readonly id: string;
  readonly key: string;
  readonly readKey: string;
  readonly deletedKey: string;
  readonly owner: Actor;
  readonly member: Actor;
  /** Of an ended session. */
  readonly staleCookie: string;
  /** Ids of the users and keys that remain when the account is emptied. */
  readonly actors: readonly string[];
  /** What no response may contain. */
  readonly secrets: readonly string[];
}

export async function openAccount(system: FuzzSystem, client: WireClient): Promise<Account> {
  const { context, database, env } = system;
  const accountId = randomUUID();
  await database.pool.query('insert into accounts (id, name) values ($1, $2)', [accountId, 'Fuzz']);
  const founder = await createUser(context.db, {
    accountId,
    role: 'owner',
    name: 'Founder',
    email: `${randomUUID()}@founder.example`,
    emailVerified: true,
    passwordHash: null,
  });
  const join = async (role: UserRole): Promise<Actor> => {
    const invitation = { accountId, role, createdBy: founder.id, email: null };
    return acceptInvitation(client, (await createInvitation(context.db, invitation)).token);
  };
  const [owner, member, former] = [await join('owner'), await join('member'), await join('member')];
  await database.pool.query('delete from sessions where user_id = $1', [former.id]);
  const [full, read, deleted] = [
    await createApiKey(context.db, { accountId, name: 'full' }),
    await createApiKey(context.db, { accountId, name: 'read', scopes: 'read' }),
    await createApiKey(context.db, { accountId, name: 'deleted' }),
  ];
  // Used before it is deleted, so that a cache of keys knows it.
  const used = await client.send({
    method: 'GET',
    path: '/api/cli/monitors',
    headers: { Authorization: `Bearer ${deleted.key}` },
    body: null,
    isChunked: false,
  });
  if (used.status !== 200) throw new Error(`a new key got ${used.status}`);
  await deleteApiKey(context.db, accountId, deleted.apiKey.id);
  const tokens = [owner, member].map(({ cookie }) => cookie.split('=')[1] ?? '');
  return {
    id: accountId,
    key: full.key,
    readKey: read.key,
    deletedKey: deleted.key,
    owner,
    member,
    staleCookie: former.cookie,
    actors: [founder.id, owner.id, member.id, former.id, full.apiKey.id, read.apiKey.id],
    secrets: [full.key, read.key, PASSWORD, env['SECRETS_KEY'] ?? '', ...tokens],
  };
}

/** The response signs in. */
async function acceptInvitation(client: WireClient, token: string): Promise<Actor> {
  const fields = { token, name: 'Actor', email: `${randomUUID()}@actor.example`, password: PASSWORD };
  const { status, text, headers } = await client.send({
    method: 'POST',
    path: '/api/dashboard/invitations/accept',
    headers: {
      'Content-Type': 'application/json',
      'X-Forwarded-For': `10.1.${randomInt(256)}.${randomInt(256)}`,
    },
    body: Buffer.from(JSON.stringify(fields)),
    isChunked: false,
  });
  if (status !== 201) throw new Error(`accepting an invitation: ${status} ${text}`);
  const [cookie = ''] = headers['set-cookie'] ?? [];
  const { user } = JSON.parse(text) as { user: { id: string } };
  return { id: user.id, cookie: cookie.split(';', 1)[0] ?? '' };
}

/**
 * Gives an empty account two monitors and one resource of each other kind.
 * @param marker is part of the fields of all of them
 */
export async function populate(
  { context, database }: FuzzSystem,
  account: Account,
  model: Model,
  marker: string,
): Promise<void> {
  const { db } = context;
  const accountId = account.id;
  for (const headers of [null, { Authorization: `Bearer ${marker}` }]) {
    const input = createMonitorSchema.parse({ name: marker, url: `https://${marker}.invalid/`, headers });
    const { monitor } = await createMonitor(context, accountId, input, 'default');
    model.add('monitor', monitor.id, { ...monitor });
  }
  const [monitorId = ''] = model.ids('monitor');
  const url = `https://${marker}.invalid/hook`;
  const channel = await createChannel(context, { accountId, name: marker, url, monitorIds: [monitorId] });
  model.add('channel', channel.id, { ...(await getChannel(db, accountId, channel.id)) });

  await recordChecks(db, [checkOf(monitorId, { status: 'DOWN', statusCode: 500, errorReason: 'HTTP_500' })]);
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from incidents where account_id = $1',
    [accountId],
  );
  for (const { id } of rows) model.add('incident', id);
  // Dispatching the status change would dispatch those of other accounts, too.
  const deliveryId = randomUUID();
  await database.pool.query(
    `insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state)
     values ($1, $2, $3, $1, $4, 'monitor.down', date_trunc('milliseconds', now()), '{}', 'failed')`,
    [deliveryId, accountId, channel.id, monitorId],
  );
  model.add('delivery', deliveryId);

  const { apiKey, key } = await createApiKey(db, { accountId, name: marker });
  model.add('apiKey', apiKey.id);
  const user = await createUser(db, {
    accountId,
    role: 'member',
    name: marker,
    email: `${randomUUID()}@${marker}.example`,
    emailVerified: false,
    passwordHash: null,
  });
  model.add('user', user.id);
  const { invitation, token } = await createInvitation(db, {
    accountId,
    role: 'member',
    email: null,
    createdBy: account.owner.id,
  });
  model.add('invitation', invitation.id);
  model.add('token', token);
  for (const secret of [channel.secret, key, token]) model.secrets.add(secret);

  const window = await createMaintenanceWindow(db, accountId, {
    name: marker,
    startsAt: inHours(1),
    endsAt: inHours(2),
    monitorIds: [monitorId],
    rrule: null,
    timeZone: 'UTC',
  });
  model.add('maintenanceWindow', window.id, { ...window });
}

/** On a whole second. */
function inHours(hours: number): Date {
  return new Date(Math.ceil(Date.now() / 1_000) * 1_000 + hours * 3_600_000);
}
