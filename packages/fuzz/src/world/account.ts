import { randomBytes, randomUUID } from 'node:crypto';
import { createApiKey } from '@tocsin/db/api-keys/create-api-key';
import { deleteApiKey } from '@tocsin/db/api-keys/delete-api-key';
import { createInvitation } from '@tocsin/db/invitations/create-invitation';
import { createUser } from '@tocsin/db/users/create-user';
import type { UserRole } from '@tocsin/contracts/vocabulary';
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
