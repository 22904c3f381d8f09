import { randomInt, randomUUID } from 'node:crypto';
import { recordResponse } from '@tocsin/api/testing/monitors';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { createApiKey, deleteApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { createInvitation } from '@tocsin/db/users/invitations';
import { createUser } from '@tocsin/db/users/users';
import { PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import { Model } from './model.ts';
import type { Caller } from './plan.ts';
import { WireClient } from './send.ts';
import type { FuzzSystem } from './fuzz-system.ts';

const PASSWORD = 'correct horse battery staple';

type Credentials = Readonly<Record<Exclude<Caller, 'anonymous' | 'other kind'>, string>>;

export interface Account {
  readonly id: string;
  readonly model: Model;
  readonly keys: Credentials;
  readonly cookies: Credentials;
  /** Ids of the account's own users and keys, which remain when the account is emptied. */
  readonly actors: readonly string[];
  readonly secrets: readonly string[];
}

export async function openAccount(system: FuzzSystem): Promise<Account> {
  const { context, database, env } = system;
  const id = randomUUID();
  await database.pool.query('insert into accounts (id, name) values ($1, $2)', [id, 'Fuzz']);
  const founder = await newUser(system, id, 'owner', 'founder');
  const client = new WireClient(system.api.port);
  const join = async (role: UserRole): Promise<{ id: string; cookie: string }> => {
    const invitation = await createInvitation(context.db, userActor(id, founder, 'founder'), {
      role,
      email: null,
    });
    return acceptInvitation(client, invitation.token);
  };
  const [owner, member, former] = [await join('owner'), await join('member'), await join('member')];
  await database.pool.query('delete from sessions where user_id = $1', [former.id]);
  const [full, read, deleted] = [
    await createApiKey(context.db, systemActor(id), { name: 'full' }),
    await createApiKey(context.db, systemActor(id), { name: 'read', scopes: 'read' }),
    await createApiKey(context.db, systemActor(id), { name: 'deleted' }),
  ];
  // Used before its deletion, so that a cache of keys contains it.
  const headers = { Authorization: `Bearer ${deleted.key}` };
  const { status } = await client.send({ method: 'GET', path: '/api/cli/monitors', headers });
  if (status !== 200) throw new Error(`a request with a new key had status ${status}`);
  client.close();
  await deleteApiKey(context.db, systemActor(id), deleted.apiKey.id);
  const tokens = [owner, member].map(({ cookie }) => cookie.split('=')[1] ?? '');
  return {
    id,
    model: new Model(),
    keys: { full: full.key, lesser: read.key, stale: deleted.key, garbage: 'tocsin_live_nonsense' },
    cookies: {
      full: owner.cookie,
      lesser: member.cookie,
      stale: former.cookie,
      garbage: owner.cookie.replace(/\.[^.]*$/, '.bm9uc2Vuc2U%3D'),
    },
    actors: [founder, owner.id, member.id, former.id, full.apiKey.id, read.apiKey.id],
    secrets: [full.key, read.key, PASSWORD, env['SECRETS_KEY'] ?? '', ...tokens],
  };
}

async function acceptInvitation(client: WireClient, token: string): Promise<{ id: string; cookie: string }> {
  const fields = { token, name: 'Actor', email: `${randomUUID()}@actor.example`, password: PASSWORD };
  const { status, text, headers } = await client.send({
    method: 'POST',
    path: '/api/dashboard/invitations/accept',
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': randomAddress() },
    body: Buffer.from(JSON.stringify(fields)),
  });
  if (status !== 201) throw new Error(`accepting an invitation: ${status} ${text}`);
  const { user } = JSON.parse(text) as { user: { id: string } };
  return { id: user.id, cookie: headers['set-cookie']?.[0]?.split(';', 1)[0] ?? '' };
}

/** Sign-ins are limited by address. */
function randomAddress(): string {
  return `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
}

/** Returns the headers of a request. @param path the path in the route, such as `/api/cli/monitors/:id` */
export function headersOf(
  account: Account,
  caller: Caller,
  method: string,
  path: string,
  hasBody: boolean,
): Record<string, string> {
  const isCli = path.startsWith('/api/cli');
  // The request must not end a session that the account still needs.
  const mayEndSession = path.startsWith('/api/auth') && method !== 'GET';
  return {
    'X-Forwarded-For': randomAddress(),
    ...credentialOf(account, mayEndSession ? 'stale' : caller, isCli),
    ...(!isCli && method !== 'GET' && { Origin: PUBLIC_URL }),
    ...(hasBody && { 'Content-Type': 'application/json' }),
  };
}

function credentialOf({ keys, cookies }: Account, caller: Caller, isCli: boolean): Record<string, string> {
  if (caller === 'anonymous') return {};
  const sendsKey = isCli !== (caller === 'other kind');
  const kind = caller === 'other kind' ? 'full' : caller;
  return sendsKey ? { Authorization: `Bearer ${keys[kind]}` } : { Cookie: cookies[kind] };
}

/** Creates a resource with an ordinary request and adds it to the account's model. */
type Create = (endpoint: string, body: object) => Promise<void>;

/** Gives an empty account two monitors and one resource of each other kind. @param marker a text that every resource contains */
export async function populate(
  system: FuzzSystem,
  { id: accountId, model }: Account,
  create: Create,
  marker: string,
): Promise<void> {
  const { pool } = system.database;
  for (const headers of [null, { Authorization: `Bearer ${marker}` }])
    await create('POST /api/cli/monitors', { name: marker, url: `https://${marker}.invalid/`, headers });
  const monitorIds = model.ids('monitor').slice(0, 1);
  const [monitorId = ''] = monitorIds;
  const url = `https://${marker}.invalid/hook`;
  await create('POST /api/dashboard/channels', { name: marker, url, monitorIds });
  await create('POST /api/dashboard/api-keys', { name: marker });
  await create('POST /api/dashboard/invitations', { role: 'member' });
  const [startsAt, endsAt] = [inHours(1), inHours(2)];
  await create('POST /api/dashboard/maintenance-windows', { name: marker, startsAt, endsAt, monitorIds });
  model.add('user', await newUser(system, accountId, 'member', marker));

  await recordResponse(system, monitorId, marker);
  const { rows } = await pool.query<{ id: string }>('select id from incidents where account_id = $1', [
    accountId,
  ]);
  for (const { id } of rows) model.add('incident', id);
  await pool.query(
    `insert into incident_notes (id, incident_id, author_id, author_name, text)
     select i.id, i.id, u.id, u.name, $2 from incidents i join lateral (
       select id, name from users where account_id = $1 and role = 'owner' order by id limit 1) u on true
     where i.account_id = $1`,
    [accountId, marker],
  );
  // A dispatch would dispatch status changes of other accounts, too.
  const deliveryId = randomUUID();
  await pool.query(
    `insert into deliveries (id, account_id, channel_id, status_change_id, monitor_id, event, timestamp, payload, state)
     values ($1, $2, $3, $1, $4, 'monitor.down', date_trunc('milliseconds', now()), '{}', 'failed')`,
    [deliveryId, accountId, model.pick('channel', 0), monitorId],
  );
  model.add('delivery', deliveryId);
}

/** Creates a user who cannot sign in. @returns the id */
async function newUser(
  { database }: FuzzSystem,
  accountId: string,
  role: UserRole,
  name: string,
): Promise<string> {
  const email = `${randomUUID()}@${name}.example`;
  const fields = { role, name, email, emailVerified: false, passwordHash: null };
  return (await createUser(database.db, systemActor(accountId), fields)).id;
}

function inHours(hours: number): string {
  return new Date(Math.ceil(Date.now() / 1_000) * 1_000 + hours * 3_600_000).toISOString();
}
