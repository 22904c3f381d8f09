import { randomBytes, randomUUID } from 'node:crypto';
import { checkOf } from '@tocsin/api/testing/monitors';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { createApiKey, deleteApiKey } from '@tocsin/db/api-keys/api-keys';
import { getChannel } from '@tocsin/db/channels/read-channels';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/write-windows';
import { createMonitor } from '@tocsin/db/monitors/create-monitor';
import { createInvitation } from '@tocsin/db/users/invitations';
import { createUser } from '@tocsin/db/users/users';
import type { Pools } from '../oracle/model.ts';
import type { WireClient } from '../wire/send.ts';
import type { FuzzSystem } from './system.ts';

/** Somebody who is signed in. */
interface Actor {
  readonly id: string;
  readonly cookie: string;
}

/** An account with everybody who asks for it. */
export interface Account {
  readonly id: string;
  readonly key: string;
  readonly readKey: string;
  readonly deletedKey: string;
  readonly owner: Actor;
  readonly member: Actor;
  readonly staleCookie: string;
  /** Ids of users and keys that stay when everything else goes. */
  readonly actors: readonly string[];
  /** What no answer may show unasked. */
  readonly secrets: readonly string[];
}

const PASSWORD = 'correct horse battery staple';

export async function openAccount(system: FuzzSystem, client: WireClient): Promise<Account> {
  const id = randomUUID();
  await system.database.pool.query('insert into accounts (id, name) values ($1, $2)', [id, 'Fuzz']);
  const { db } = system.context;
  const founder = await createUser(db, {
    accountId: id,
    role: 'owner',
    name: 'Founder',
    email: `${randomUUID()}@founder.example`,
    emailVerified: true,
    passwordHash: null,
  });
  const signedIn = (role: UserRole): Promise<Actor> =>
    join(system, client, { accountId: id, role, createdBy: founder.id });
  const [owner, member, leaver] = [
    await signedIn('owner'),
    await signedIn('member'),
    await signedIn('member'),
  ];
  await system.database.pool.query('delete from sessions where user_id = $1', [leaver.id]);
  const both = await createApiKey(db, { accountId: id, name: 'both' });
  const read = await createApiKey(db, { accountId: id, name: 'read', scopes: 'read' });
  const deletedKey = await useAndDeleteKey(system, client, id);
  return {
    id,
    key: both.key,
    readKey: read.key,
    deletedKey,
    owner,
    member,
    staleCookie: leaver.cookie,
    actors: [founder.id, owner.id, member.id, leaver.id, both.apiKey.id, read.apiKey.id],
    secrets: [
      both.key,
      read.key,
      PASSWORD,
      system.secretsKey,
      ...[owner, member].map(({ cookie }) => cookie.split('=')[1] ?? ''),
    ],
  };
}

/** @returns a key that worked, so that whoever remembers keys has it, and was deleted then */
async function useAndDeleteKey(
  { context }: FuzzSystem,
  client: WireClient,
  accountId: string,
): Promise<string> {
  const { key, apiKey } = await createApiKey(context.db, { accountId, name: 'deleted' });
  const headers = { Authorization: `Bearer ${key}` };
  const wire = { method: 'GET', path: '/api/cli/monitors', headers, body: null, isChunked: false };
  const { status } = await client.send(wire);
  if (status !== 200) throw new Error(`a new key was answered ${status}`);
  await deleteApiKey(context.db, accountId, apiKey.id);
  return key;
}

/** As a person does it: by an invitation, whose acceptance signs in. */
async function join(
  { context }: FuzzSystem,
  client: WireClient,
  invited: { accountId: string; role: UserRole; createdBy: string },
): Promise<Actor> {
  const { token } = await createInvitation(context.db, { ...invited, email: null });
  const fields = { token, name: 'Actor', email: `${randomUUID()}@actor.example`, password: PASSWORD };
  const answer = await client.send({
    method: 'POST',
    path: '/api/dashboard/invitations/accept',
    headers: {
      'Content-Type': 'application/json',
      'X-Forwarded-For': `10.1.${randomBytes(1)[0] ?? 0}.${randomBytes(1)[0] ?? 0}`,
    },
    body: Buffer.from(JSON.stringify(fields)),
    isChunked: false,
  });
  if (answer.status !== 201) throw new Error(`nobody joined: ${answer.status} ${answer.text}`);
  const [cookie = ''] = answer.headers['set-cookie'] ?? [];
  return {
    id: (JSON.parse(answer.text) as { user: { id: string } }).user.id,
    cookie: cookie.split(';', 1)[0] ?? '',
  };
}

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
