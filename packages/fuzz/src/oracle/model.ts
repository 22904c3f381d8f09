import { randomUUID } from 'node:crypto';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { monitorSetResultSchema, monitorSetSchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Route } from '../requests/routes.ts';
import type { Kind } from '../requests/values.ts';
import { assert, assertFields } from './responses.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The resources of one account, as far as responses show them: the model that the api is compared with. */
export class Model {
  readonly secrets = new Set<string>();
  readonly #resources = new Map<Kind, Map<string, Fields | null>>();
  readonly #deleted = new Map<Kind, string[]>();

  /** @param fields as the api last showed them; null if they are not compared */
  add(kind: Kind, id: string, fields: Fields | null = null): void {
    this.#of(kind).set(id, fields);
  }

  remove(kind: Kind, id: string): void {
    if (this.#of(kind).delete(id)) this.#deleted.set(kind, [...(this.#deleted.get(kind) ?? []), id]);
  }

  has(kind: Kind, id: string): boolean {
    return this.#of(kind).has(id);
  }

  fieldsOf(kind: Kind, id: string): Fields | null {
    return this.#of(kind).get(id) ?? null;
  }

  /** Newest last. */
  ids(kind: Kind): string[] {
    return [...this.#of(kind).keys()];
  }

  /** One of them, counted from the newest; a new id if there is none. */
  pick(kind: Kind, index: number): string {
    return pick(this.ids(kind), index);
  }

  pickDeleted(kind: Kind, index: number): string {
    return pick(this.#deleted.get(kind) ?? [], index);
  }

  clear(): void {
    this.#resources.clear();
    this.#deleted.clear();
    this.secrets.clear();
  }

  #of(kind: Kind): Map<string, Fields | null> {
    const resources = this.#resources.get(kind) ?? new Map<string, Fields | null>();
    this.#resources.set(kind, resources);
    return resources;
  }
}

function pick(ids: readonly string[], index: number): string {
  return ids.at(-1 - (index % Math.max(ids.length, 1))) ?? randomUUID();
}

/** The resources whose fields are compared, by the first part of the path below the root. Keys of responses have the name of the kind. */
const COMPARED: Readonly<Record<string, Kind>> = {
  monitors: 'monitor',
  channels: 'channel',
  'maintenance-windows': 'maintenanceWindow',
  'api-keys': 'apiKey',
  users: 'user',
  invitations: 'invitation',
};
/** Lists of these show all resources and no other. */
const COMPLETE_LISTS: ReadonlySet<Kind> = new Set(['monitor', 'channel']);
/** `GET` of one of these by its id is possible. */
const READABLE: ReadonlySet<Kind> = new Set(['monitor', 'channel', 'maintenanceWindow']);

/** The fields that users write. Others, such as the status, change on their own. */
const INPUT_FIELDS = new Set(
  [
    Object.keys(createMonitorSchema.shape),
    ['monitorIds', 'allMonitors', 'enabled', 'startsAt', 'endsAt', 'rrule', 'timeZone', 'createdAt'],
    ['role', 'email', 'expiresAt'],
  ].flat(),
);

export interface Exchange {
  readonly method: string;
  /** Below its root, such as `/monitors/:id`. */
  readonly pattern: string;
  readonly id: string;
  /** The schema of the request's body. */
  readonly schema: Route['body'];
  readonly sent: unknown;
  readonly received: unknown;
}

/**
 * Applies a success to the model, and compares what it shows with what was written before and now.
 * @returns the path below the root that must now return the same resource; null if there is none
 * @throws Finding
 */
export function applyExchange(model: Model, exchange: Exchange): string | null {
  const { method, pattern, id, schema, sent } = exchange;
  const received = (exchange.received ?? {}) as Record<string, unknown>;
  const [, collection = '', parameter, more] = pattern.split('/');
  addSecrets(model, received);
  // The invitation may be that of the other account.
  const { token } = (sent ?? {}) as { token?: string };
  if (pattern === '/invitations/accept' && token !== undefined && model.has('token', token))
    model.add('user', (received['user'] as { id: string }).id);
  const kind = Object.hasOwn(COMPARED, collection) ? COMPARED[collection] : undefined;
  if (kind === undefined || more !== undefined || (parameter ?? ':id') !== ':id') return null;
  if (parameter === undefined && method === 'PUT') applySet(model, sent, received);
  else if (method === 'DELETE') model.remove(kind, id);
  else if (parameter === undefined && method === 'GET') compareList(model, kind, received);
  else {
    const shown = received[kind] as Fields | undefined;
    assert(shown !== undefined, `no ${kind} in the response`);
    const shownId = String(shown['id']);
    const before = method === 'POST' ? {} : inputOf(model.fieldsOf(kind, shownId));
    const written = method === 'GET' || schema === undefined ? {} : (schema.parse(sent) as object);
    assertFields(
      `${method} ${pattern}`,
      comparable(model, shown),
      comparable(model, { ...before, ...written }),
    );
    model.add(kind, shownId, shown);
    if (method !== 'GET' && READABLE.has(kind)) return `/${collection}/${shownId}`;
  }
  return null;
}

function inputOf(fields: Fields | null): Fields {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([name]) => INPUT_FIELDS.has(name)));
}

/** Fields as the api shows them: instants as text; ids of monitors in one order, without deleted ones. */
function comparable(model: Model, fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (value instanceof Date) return [name, value.toISOString()];
      if (name !== 'monitorIds' || !Array.isArray(value)) return [name, value ?? null];
      const ids = value.map(String).filter((id) => model.has('monitor', id));
      return [name, ids.toSorted()];
    }),
  );
}

function compareList(model: Model, kind: Kind, received: Record<string, unknown>): void {
  const shown = (received[`${kind}s`] ?? []) as Fields[];
  for (const one of shown) {
    const known = inputOf(model.fieldsOf(kind, String(one['id'])));
    assertFields(`a list of ${kind}s`, comparable(model, one), comparable(model, known));
  }
  if (!COMPLETE_LISTS.has(kind)) return;
  const ids = shown.map(({ id }) => String(id)).toSorted();
  const expected = model.ids(kind).toSorted();
  assert(ids.join() === expected.join(), `a list of ${kind}s has ${ids.join()}, not ${expected.join()}`);
}

function applySet(model: Model, sent: unknown, received: unknown): void {
  const set = monitorSetSchema.parse(sent);
  const result = monitorSetResultSchema.parse(received);
  const entries = [...result.created, ...result.updated, ...result.unchanged];
  const ids = new Map(entries.map(({ id, externalId }) => [externalId, id]));
  assert(
    entries.length === set.monitors.length && set.monitors.every(({ externalId }) => ids.has(externalId)),
    `the result of a set has ${[...ids.keys()].join()}`,
  );
  if (result.dryRun) return;
  for (const entry of set.monitors) {
    const id = ids.get(entry.externalId);
    assert(typeof id === 'string', `no id of ${entry.externalId}`);
    model.add('monitor', id, { id, ...entry, source: set.source });
  }
  for (const { id } of result.deleted) model.remove('monitor', id);
}

function addSecrets(model: Model, received: Fields): void {
  for (const name of ['token', 'key', 'secret']) {
    const value = received[name];
    if (typeof value !== 'string') continue;
    model.secrets.add(value);
    if (name === 'token') model.add('token', value);
  }
}
