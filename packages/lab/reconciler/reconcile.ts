/*
 * Makes the monitors, channels and maintenance windows of one source equal to a file, whatever happens to requests, processes and other
 * writers: node reconcile.js <desired.json> <secrets.jsonl>. Its types come from the OpenAPI document alone.
 */
import { createHash } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { components, paths } from './tocsin-api.js';

const PATHS = {
  monitors: '/api/cli/monitors',
  channels: '/api/cli/channels',
  maintenanceWindows: '/api/cli/maintenance-windows',
} as const satisfies Readonly<Record<string, keyof paths>>;

type Schemas = components['schemas'];
type Kind = keyof typeof PATHS;
interface Entries {
  readonly monitors: Schemas['MonitorCreate'][];
  readonly channels: Schemas['ChannelCreate'][];
  readonly maintenanceWindows: Schemas['MaintenanceWindowCreate'][];
}
type Entry = Entries[Kind][number];
type Listed = Schemas['ListedMonitor'] | Schemas['ListedChannel'] | Schemas['ListedMaintenanceWindow'];
type NewChannel = paths['/api/cli/channels']['post']['responses'][201]['content']['application/json'];

interface Call {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Entry;
}
interface Reply {
  readonly status: number;
  readonly etag: string;
  readonly body: unknown;
}

const { TOCSIN_URL = '', TOCSIN_API_KEY = '' } = process.env;
const [, , desiredFile = '', secretsFile = ''] = process.argv;
const { source, ...desired } = JSON.parse(await readFile(desiredFile, 'utf8')) as Entries & {
  source: string;
};
/** Secrets by the id of their channel. Null for a channel that another program created. */
const secrets = new Map<string, string | null>(
  (await readFile(secretsFile, 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as [string, string | null]),
);
let writes = 0;

/** Repeats a request until it gets a response. This is safe, because creations have a key and changes an ETag. */
async function send(method: string, path: string, { headers, body }: Call = {}): Promise<Reply> {
  if (method !== 'GET') writes += 1;
  for (;;) {
    try {
      const response = await fetch(TOCSIN_URL + path, {
        method,
        headers: {
          Authorization: `Bearer ${TOCSIN_API_KEY}`,
          'Content-Type': 'application/json',
          ...headers,
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const { status } = response;
      const text = await response.text();
      const isTemporary = status >= 500 || text.includes('urn:tocsin:problem:request-in-flight');
      const etag = response.headers.get('etag') ?? '';
      if (!isTemporary) return { status, etag, body: text === '' ? null : JSON.parse(text) };
    } catch {
      // The request or its response was lost.
    }
    await wait(10);
  }
}

function expectStatus(what: string, { status, body }: Reply, ...expected: number[]): void {
  if (!expected.includes(status)) throw new Error(`${what}: ${status} ${JSON.stringify(body)}`);
}

/** Resources without an externalId are told apart by their names. */
function keyOf({ externalId, name }: Entry | Listed): string {
  return externalId ?? name;
}

function includes(actual: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted))
    return JSON.stringify(actual) === JSON.stringify(wanted);
  return Object.entries(wanted).every(([name, value]) =>
    includes((actual as Record<string, unknown> | null)?.[name], value),
  );
}

async function remember(id: string, secret: string | null): Promise<void> {
  secrets.set(id, secret);
  await appendFile(secretsFile, `${JSON.stringify([id, secret])}\n`);
}

async function update(kind: Kind, { id, etag }: Pick<Listed, 'id' | 'etag'>, body: Entry): Promise<void> {
  const reply = await send('PUT', `${PATHS[kind]}/${id}`, { headers: { 'If-Match': etag }, body });
  // After 404 and 412, the next pass reads the resource again.
  expectStatus('update', reply, 200, 404, 412);
}

/** Creates a resource, or repeats its creation to read the secret of a channel again. */
async function create(kind: Kind, body: Entry): Promise<void> {
  const key = createHash('sha256')
    .update(JSON.stringify([kind, body]))
    .digest('hex');
  const reply = await send('POST', PATHS[kind], { headers: { 'Idempotency-Key': key }, body });
  if (reply.status === 409) return adopt(kind, body);
  expectStatus('create', reply, 201);
  const { channel, secret } = reply.body as Partial<NewChannel>;
  if (channel && secret !== undefined) await remember(channel.id, secret);
}

/** Takes over the resource that has the externalId. */
async function adopt(kind: Kind, body: Entry): Promise<void> {
  const key = encodeURIComponent(keyOf(body));
  const reply = await send('GET', `${PATHS[kind]}/by-external-id/${key}`);
  expectStatus('adopt', reply, 200, 404);
  const [record] = Object.values(reply.body as Record<string, Listed>);
  if (reply.status === 404 || record === undefined) return;
  if (!includes(record, body)) await update(kind, { id: record.id, etag: reply.etag }, body);
  if (kind === 'channels') await remember(record.id, null);
}

async function reconcile(kind: Kind): Promise<void> {
  const wanted = new Map<string, Entry>(desired[kind].map((entry) => [keyOf(entry), { ...entry, source }]));
  const limit = kind === 'maintenanceWindows' ? '&limit=500' : '';
  const reply = await send('GET', `${PATHS[kind]}?source=${encodeURIComponent(source)}${limit}`);
  expectStatus('list', reply, 200);
  for (const record of (reply.body as Record<Kind, Listed[]>)[kind]) {
    const entry = wanted.get(keyOf(record));
    wanted.delete(keyOf(record));
    if (entry === undefined) {
      const headers = { 'If-Match': record.etag };
      expectStatus('delete', await send('DELETE', `${PATHS[kind]}/${record.id}`, { headers }), 204, 404, 412);
    } else {
      if (kind === 'channels' && !secrets.has(record.id)) await create(kind, entry);
      if (!includes(record, entry)) await update(kind, record, entry);
    }
  }
  for (const entry of wanted.values()) await create(kind, entry);
}

do {
  writes = 0;
  await Promise.all((Object.keys(PATHS) as Kind[]).map(reconcile));
} while (writes > 0);
