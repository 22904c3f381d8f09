import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import {
  type MonitorSet,
  type MonitorSetResult,
  monitorSetResultSchema,
  monitorSetSchema,
} from '@tocsin/contracts/monitor-sets/monitor-set';
import { ROUTES } from './routes.ts';
import type { Kind } from './values.ts';
import { assert } from './responses.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Resource {
  readonly kind: Kind;
  readonly id: string;
  /** Fields last shown by the api. Null if they are not compared. */
  readonly fields: Fields | null;
  isDeleted: boolean;
}

/** The resources of one account according to its responses. The api is compared with this model. */
export class Model {
  readonly secrets = new Set<string>();
  readonly #resources = new Map<string, Resource>();

  add(kind: Kind, id: string, fields: Fields | null = null): void {
    this.#resources.set(`${kind} ${id}`, { kind, id, fields, isDeleted: false });
  }

  remove(kind: Kind, id: string): void {
    const resource = this.#resources.get(`${kind} ${id}`);
    if (resource !== undefined) resource.isDeleted = true;
  }

  has(kind: Kind, id: string): boolean {
    return this.#resources.get(`${kind} ${id}`)?.isDeleted === false;
  }

  /** Newest last. */
  ids(kind: Kind, deleted = false): string[] {
    const found = [...this.#resources.values()].filter(
      (one) => one.kind === kind && one.isDeleted === deleted,
    );
    return found.map(({ id }) => id);
  }

  /** Returns an id, counted from the newest, or a new id if there is none. */
  pick(kind: Kind, index: number, deleted = false): string {
    const ids = kind === 'externalId' ? this.#externalIds(deleted) : this.ids(kind, deleted);
    return ids.at(-1 - (index % Math.max(ids.length, 1))) ?? randomUUID();
  }

  #externalIds(deleted: boolean): string[] {
    return this.ids('monitor', deleted).flatMap((id) => {
      const externalId = this.#resources.get(`monitor ${id}`)?.fields?.['externalId'];
      return typeof externalId === 'string' ? encodeURIComponent(externalId) : [];
    });
  }

  inputOf(kind: Kind, id: unknown): Fields {
    const { fields } = this.#resources.get(`${kind} ${String(id)}`) ?? {};
    return Object.fromEntries(Object.entries(fields ?? {}).filter(([name]) => INPUT_FIELDS.has(name)));
  }

  clear(): void {
    this.#resources.clear();
    this.secrets.clear();
  }
}

/** Users write these fields. Others, such as the status, change on their own. */
const INPUT_FIELDS = new Set(
  'monitorIds allMonitors selector events enabled startsAt endsAt rrule timeZone createdAt role email expiresAt'
    .split(' ')
    .concat(Object.keys(createMonitorSchema.shape)),
);

/** Kinds whose fields are compared, by path. Responses contain a resource under the name of its kind. */
const COMPARED = new Map<string, Kind>([
  ['monitors', 'monitor'],
  ['channels', 'channel'],
  ['maintenance-windows', 'maintenanceWindow'],
  ['api-keys', 'apiKey'],
  ['users', 'user'],
  ['invitations', 'invitation'],
]);

export interface Exchange {
  readonly endpoint: string;
  readonly id: string;
  readonly sent: unknown;
  readonly received: unknown;
  /** True if the caller may see header values and bodies of monitors. */
  readonly showsSecrets: boolean;
}

/**
 * Applies a successful request to the model, and compares the response with everything that was written.
 * @returns the endpoint and id that must now show the same resource, or null
 * @throws Finding
 */
export function applyExchange(model: Model, exchange: Exchange): Pick<Exchange, 'endpoint' | 'id'> | null {
  const { endpoint, id, sent, showsSecrets } = exchange;
  const received = (exchange.received ?? {}) as Fields;
  const [method, root, collection = '', parameter = null, more] =
    /^(\w+) (\/api\/(?:cli|dashboard))\/([^/]+)(?:\/([^/]+)(\/.*)?)?$/.exec(endpoint)?.slice(1) ?? [];
  if (root === undefined) return null;
  addSecrets(model, received);
  // The other account may have made the invitation.
  const { token } = (sent ?? {}) as { token?: string };
  if (parameter === 'accept' && token !== undefined && model.has('token', token))
    model.add('user', (received['user'] as { id: string }).id);
  applyBulk(model, { ...exchange, received });
  const kind = COMPARED.get(collection);
  if (kind === undefined || more !== undefined || (parameter !== null && parameter !== ':id')) return null;
  if (method === 'DELETE') model.remove(kind, id);
  else if (parameter === null && method === 'PUT') applySet(model, sent, received);
  else if (parameter === null && method === 'GET') compareList(model, kind, received, showsSecrets);
  else {
    const shown = received[kind] as Fields | undefined;
    assert(shown !== undefined, `no ${kind} in the response`);
    const shownId = String(shown['id']);
    const before = method === 'POST' ? {} : model.inputOf(kind, shownId);
    const written = method === 'GET' ? {} : (ROUTES[endpoint]?.body?.parse(sent) ?? {});
    const expected = { ...before, ...shownFieldsOf(written) };
    assertShows(model, endpoint, shown, visible(expected, showsSecrets));
    if (showsSecrets) model.add(kind, shownId, shown);
    const readable = `GET ${root}/${collection}/:id`;
    if (method !== 'GET' && ROUTES[readable] !== undefined) return { endpoint: readable, id: shownId };
  }
  return null;
}

function applyBulk(model: Model, { endpoint, id, sent, received }: Exchange): void {
  const { deletedIds, monitors } = received as Record<string, unknown>;
  switch (endpoint) {
    case 'POST /api/dashboard/monitors/delete':
      for (const deleted of deletedIds as string[]) model.remove('monitor', deleted);
      break;
    case 'POST /api/dashboard/monitors/labels':
      for (const { id: edited, labels } of monitors as { readonly id: string; readonly labels: unknown }[])
        model.add('monitor', edited, { ...model.inputOf('monitor', edited), labels });
      break;
    case 'POST /api/dashboard/channels/:id/monitors': {
      const before = model.inputOf('channel', id);
      const { monitorIds = [] } = ROUTES[endpoint]?.body?.parse(sent) ?? {};
      const added = [...((before['monitorIds'] as string[] | undefined) ?? []), ...(monitorIds as string[])];
      model.add('channel', id, { ...before, monitorIds: [...new Set(added)] });
    }
  }
}

/** Returns the fields of a request that the response shows unchanged. */
function shownFieldsOf(written: Fields): Fields {
  const hidden = new Set(['durationSeconds', 'externalIds', 'secret']);
  // The response shows them as part of `monitorIds`.
  if ((written['externalIds'] as readonly string[] | undefined)?.length) hidden.add('monitorIds');
  return Object.fromEntries(Object.entries(written).filter(([name]) => !hidden.has(name)));
}

/** Ignores other fields of `actual`. @throws Finding if a field differs */
function assertShows(model: Model, what: string, actual: Fields, expected: Fields): void {
  for (const [name, value] of Object.entries(expected)) {
    const [shown, wanted] = [comparable(model, name, actual[name]), comparable(model, name, value)];
    const isEqual = isDeepStrictEqual(shown, wanted);
    assert(isEqual, `${what}: ${name} is ${JSON.stringify(shown)}, not ${JSON.stringify(wanted)}`);
  }
}

/** Replaces the values that a caller without write access must not see. */
function visible(fields: Fields, showsSecrets: boolean): Fields {
  if (showsSecrets) return fields;
  const { headers, body } = fields as { readonly headers?: object | null; readonly body?: string | null };
  const hidden = Object.keys(headers ?? {}).map((name) => [name, HIDDEN_SECRET]);
  return {
    ...fields,
    ...(typeof body === 'string' && { body: HIDDEN_SECRET }),
    ...(headers && { headers: Object.fromEntries(hidden) }),
  };
}

/** Converts a value to its form in responses. Ids of monitors are sorted and exclude deleted ones. */
function comparable(model: Model, name: string, value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (name !== 'monitorIds' || !Array.isArray(value)) return value ?? null;
  const ids = value.map(String).filter((id) => model.has('monitor', id));
  return ids.toSorted();
}

function compareList(model: Model, kind: Kind, received: Fields, showsSecrets: boolean): void {
  const shown = (received[`${kind}s`] ?? []) as Fields[];
  for (const one of shown)
    assertShows(model, `a list of ${kind}s`, one, visible(model.inputOf(kind, one['id']), showsSecrets));
  // Other lists have pages, or contain resources that the model does not know.
  if (kind !== 'monitor' && kind !== 'channel') return;
  const ids = shown.map(({ id }) => String(id)).toSorted();
  const expected = model.ids(kind).toSorted();
  assert(ids.join() === expected.join(), `a list of ${kind}s has ${ids.join()}, not ${expected.join()}`);
}

function applySet(model: Model, sent: unknown, received: unknown): void {
  const set = monitorSetSchema.parse(sent);
  const result = monitorSetResultSchema.parse(received);
  assert(
    (set.channels === undefined) === (result.channels === undefined),
    'channels in the set or the result',
  );
  applyEntries(model, 'monitor', set.monitors, set, result);
  if (result.channels === undefined) return;
  for (const { secret } of result.channels.created) if (secret !== null) model.secrets.add(secret);
  applyEntries(model, 'channel', set.channels ?? [], set, result.channels);
}

function applyEntries(
  model: Model,
  kind: Kind,
  given: readonly (Fields & { readonly externalId: string })[],
  { source, dryRun }: MonitorSet,
  { created, updated, unchanged, deleted }: MonitorSetResult | NonNullable<MonitorSetResult['channels']>,
): void {
  const entries = [...created, ...updated, ...unchanged];
  const ids = new Map(entries.map(({ id, externalId }) => [externalId, id]));
  const isComplete = given.every(({ externalId }) =>
    dryRun ? ids.has(externalId) : typeof ids.get(externalId) === 'string',
  );
  assert(isComplete && entries.length === given.length, `the result of a set has ${[...ids.keys()].join()}`);
  if (dryRun) return;
  for (const entry of given) {
    const id = String(ids.get(entry.externalId));
    model.add(kind, id, { id, ...entry, source });
  }
  for (const { id } of deleted) model.remove(kind, id);
}

function addSecrets(model: Model, received: Fields): void {
  for (const name of ['token', 'key', 'secret']) {
    const value = received[name];
    if (typeof value !== 'string') continue;
    model.secrets.add(value);
    if (name === 'token') model.add('token', value);
  }
}
