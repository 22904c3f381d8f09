import { randomUUID } from 'node:crypto';
import { createApiKeySchema } from '@tocsin/contracts/api-keys/api-key';
import { createChannelSchema, updateChannelSchema } from '@tocsin/contracts/channels/channel';
import {
  createMaintenanceWindowSchema,
  updateMaintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { monitorSetResultSchema, monitorSetSchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { createMonitorSchema, updateMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { createInvitationSchema, updateUserSchema } from '@tocsin/contracts/people/user';
import type { z } from 'zod';
import { type Kind, KINDS } from '../requests/values.ts';
import { demand, demandFields } from './responses.ts';

/** What is known of a thing: its fields as the api last told them, or null where they are not followed. */
export type Known = Readonly<Record<string, unknown>> | null;

/** What an account holds, as far as the answers to requests tell: the model that the api is compared with. */
export class Pools {
  readonly secrets = new Set<string>();
  readonly #things = new Map<Kind, Map<string, Known>>(KINDS.map((kind) => [kind, new Map()]));
  readonly #gone = new Map<Kind, string[]>(KINDS.map((kind) => [kind, []]));

  add(kind: Kind, id: string, known: Known): void {
    this.#of(kind).set(id, known);
  }

  remove(kind: Kind, id: string): void {
    if (this.#of(kind).delete(id)) this.#gone.get(kind)?.push(id);
  }

  has(kind: Kind, id: string): boolean {
    return this.#of(kind).has(id);
  }

  known(kind: Kind, id: string): Known {
    return this.#of(kind).get(id) ?? null;
  }

  /** Newest last. */
  ids(kind: Kind): string[] {
    return [...this.#of(kind).keys()];
  }

  /** One of them, counted from the newest and around; an id of nothing where there is none. */
  pick(kind: Kind, index: number): string {
    const ids = this.ids(kind);
    return ids.at(-1 - (index % Math.max(ids.length, 1))) ?? randomUUID();
  }

  pickGone(kind: Kind, index: number): string {
    const ids = this.#gone.get(kind) ?? [];
    return ids.at(-1 - (index % Math.max(ids.length, 1))) ?? randomUUID();
  }

  clear(): void {
    for (const things of this.#things.values()) things.clear();
    for (const ids of this.#gone.values()) ids.length = 0;
    this.secrets.clear();
  }

  #of(kind: Kind): Map<string, Known> {
    const things = this.#things.get(kind);
    if (things === undefined) throw new Error(`no such kind: ${kind}`);
    return things;
  }
}

/** A kind of thing whose fields are followed from what was written to whatever is read. */
interface Followed {
  readonly kind: Kind;
  readonly record: string;
  readonly list: string;
  readonly create?: z.ZodType;
  readonly update?: z.ZodType;
  /** Whether a list shows all of them, and no other. */
  readonly isListComplete: boolean;
}

/** By the last fixed part of the path. */
const FOLLOWED: Readonly<Record<string, Followed>> = {
  monitors: {
    kind: 'monitor',
    record: 'monitor',
    list: 'monitors',
    create: createMonitorSchema,
    update: updateMonitorSchema,
    isListComplete: true,
  },
  channels: {
    kind: 'channel',
    record: 'channel',
    list: 'channels',
    create: createChannelSchema,
    update: updateChannelSchema,
    isListComplete: true,
  },
  'maintenance-windows': {
    kind: 'maintenanceWindow',
    record: 'maintenanceWindow',
    list: 'maintenanceWindows',
    create: createMaintenanceWindowSchema,
    update: updateMaintenanceWindowSchema,
    isListComplete: false,
  },
  'api-keys': {
    kind: 'apiKey',
    record: 'apiKey',
    list: 'apiKeys',
    create: createApiKeySchema,
    isListComplete: false,
  },
  users: { kind: 'user', record: 'user', list: 'users', update: updateUserSchema, isListComplete: false },
  invitations: {
    kind: 'invitation',
    record: 'invitation',
    list: 'invitations',
    create: createInvitationSchema,
    isListComplete: false,
  },
};

export interface Exchange {
  readonly method: string;
  /** Without its root, as `/monitors/:id`. */
  readonly pattern: string;
  readonly id: string;
  readonly sent: unknown;
  readonly received: unknown;
}

/**
 * Notes what a success changed, and demands that what it tells is what was written, now and before.
 * @returns the path under the root that must now read back the same record; null where there is none
 * @throws Finding
 */
export function follow(pools: Pools, { method, pattern, id, sent, received }: Exchange): string | null {
  const [, place = '', hasId, more] = pattern.split('/');
  const followed = Object.hasOwn(FOLLOWED, place) ? FOLLOWED[place] : undefined;
  noteToken(pools, received);
  if (pattern === '/invitations/accept') noteUser(pools, received);
  if (followed === undefined || more !== undefined || (hasId !== undefined && hasId !== ':id')) return null;
  if (method === 'PUT' && hasId === undefined) {
    followSet(pools, sent, received);
    return null;
  }
  const { kind, record } = followed;
  if (method === 'DELETE') {
    pools.remove(kind, id);
    return null;
  }
  if (method === 'GET' && hasId === undefined) {
    followList(pools, followed, received);
    return null;
  }
  const told = (received as Record<string, Record<string, unknown>>)[record];
  demand(told !== undefined, `no ${record} in the answer`);
  const before = method === 'POST' ? {} : (pools.known(kind, String(told['id'])) ?? {});
  const schema = method === 'POST' ? followed.create : followed.update;
  const written = method === 'GET' || schema === undefined ? {} : (schema.parse(sent) as object);
  demandFields(
    `${method} ${pattern}`,
    comparable(pools, told),
    comparable(pools, { ...inputOf(before), ...written }),
  );
  pools.add(kind, String(told['id']), before === null ? null : told);
  return method === 'GET' || ['apiKey', 'user', 'invitation'].includes(kind)
    ? null
    : `/${place}/${String(told['id'])}`;
}

/** What people write; the rest, as a status, goes its own ways. */
const INPUT_FIELDS = new Set([
  ...Object.keys(createMonitorSchema.shape),
  'monitorIds',
  'allMonitors',
  'enabled',
  'startsAt',
  'endsAt',
  'rrule',
  'timeZone',
  'createdAt',
  'role',
  'email',
  'expiresAt',
]);

function inputOf(known: Known): Record<string, unknown> {
  return Object.fromEntries(Object.entries(known ?? {}).filter(([name]) => INPUT_FIELDS.has(name)));
}

/** Fields as they are told: instants as text; ids of monitors in one order, without those that are gone. */
function comparable(pools: Pools, fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (value instanceof Date) return [name, value.toISOString()];
      if (name === 'monitorIds' && Array.isArray(value)) {
        return [
          name,
          value
            .map(String)
            .filter((id) => pools.has('monitor', id))
            .toSorted(),
        ];
      }
      return [name, value ?? null];
    }),
  );
}

function followList(pools: Pools, { kind, list, isListComplete }: Followed, received: unknown): void {
  const told = (received as Record<string, Record<string, unknown>[]>)[list] ?? [];
  for (const one of told) {
    const known = pools.known(kind, String(one['id']));
    if (known !== null)
      demandFields(`a list of ${list}`, comparable(pools, one), comparable(pools, inputOf(known)));
  }
  if (!isListComplete) return;
  const [ids, wanted] = [told.map(({ id }) => String(id)).toSorted(), pools.ids(kind).toSorted()];
  demand(ids.join() === wanted.join(), `a list of ${list} holds ${ids.join()}, not ${wanted.join()}`);
}

function followSet(pools: Pools, sent: unknown, received: unknown): void {
  const set = monitorSetSchema.parse(sent);
  const result = monitorSetResultSchema.parse(received);
  const done = [...result.created, ...result.updated, ...result.unchanged];
  const told = new Set(done.map(({ externalId }) => externalId));
  demand(
    done.length === set.monitors.length && set.monitors.every(({ externalId }) => told.has(externalId)),
    `a set was answered with ${[...told].join()}`,
  );
  if (result.dryRun) return;
  const ids = new Map(done.map(({ id, externalId }) => [externalId, id]));
  for (const entry of set.monitors) {
    const id = ids.get(entry.externalId);
    demand(typeof id === 'string', `no id of ${entry.externalId}`);
    pools.add('monitor', id, { id, ...entry, source: set.source });
  }
  for (const { id } of result.deleted) pools.remove('monitor', id);
}

function noteToken(pools: Pools, received: unknown): void {
  if (typeof received !== 'object' || received === null) return;
  for (const name of ['token', 'key', 'secret'] as const) {
    const value = (received as Record<string, unknown>)[name];
    if (typeof value !== 'string') continue;
    pools.secrets.add(value);
    if (name === 'token') pools.add('token', value, null);
  }
}

function noteUser(pools: Pools, received: unknown): void {
  pools.add('user', (received as { user: { id: string } }).user.id, null);
}
