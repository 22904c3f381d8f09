import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { listAuditEntries } from '@tocsin/db/audit-log/read-audit-log';
import { revealChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { Random } from '@tocsin/lab/random';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import openapiTS, { astToString } from 'openapi-typescript';
import { type Exchange, LossyProxy } from './lossy-proxy.ts';

const SEED = 40;
const LOST_RESPONSES = 500;
const SHARES = { lostRequests: 0.1, lostResponses: 0.6, duplicates: 0.1 };
const NO_LOSS = { lostRequests: 0, lostResponses: 0, duplicates: 0 };
const EDITS_PER_ROUND = 10;
const SOURCE = 'platform';
const START = Date.now() + 24 * 3_600_000;

const KINDS = ['monitors', 'channels', 'maintenanceWindows'] as const;
const PATHS = {
  monitors: '/api/cli/monitors',
  channels: '/api/cli/channels',
  maintenanceWindows: '/api/cli/maintenance-windows',
} as const;

interface Entry {
  readonly name: string;
  readonly externalId?: string;
  readonly url?: string;
  readonly endsAt?: string;
}
type Desired = Readonly<Record<(typeof KINDS)[number], readonly Entry[]>>;

const random = new Random(SEED);
let system: System;
let api: ServiceProcess;
let proxy: LossyProxy;
/** API key of the other writer. */
let writerKey: string;
let program: string;
let secretsFile: string;
let edits = 0;

beforeAll(async () => {
  system = await createSystem({ queue: 'postgres', receiverCa: '' });
  api = system.service('api');
  await api.start();
  proxy = await LossyProxy.start(() => api.port, random);
  const actor = systemActor(system.context.accountId);
  writerKey = (await createApiKey(system.context.db, actor, { name: 'other writer' })).key;
  program = await compileReconciler();
  secretsFile = join(system.folder, 'secrets.jsonl');
  await writeFile(secretsFile, '');
});
afterAll(async () => {
  await proxy.stop();
  await system.close();
});

/** Compiles the reconciler with types from the OpenAPI document. @returns the path of the program */
async function compileReconciler(): Promise<string> {
  const { body } = await system.request('GET', '/api/cli/openapi.json');
  const types = await openapiTS(body as Parameters<typeof openapiTS>[0], { defaultNonNullable: false });
  const file = (name: string): string => join(system.folder, name);
  await writeFile(file('tocsin-api.d.ts'), astToString(types));
  await writeFile(file('package.json'), '{ "type": "module" }');
  await copyFile(new URL('../reconciler/reconcile.ts', import.meta.url), file('reconcile.ts'));
  const typeRoots = fileURLToPath(new URL('../../../node_modules/@types', import.meta.url));
  const options = ['--strict', '--target', 'es2023', '--module', 'nodenext', '--typeRoots', typeRoots];
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const args = [tsc, ...options, '--types', 'node', file('reconcile.ts')];
  const { stdout } = await promisify(execFile)(process.execPath, args).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe('');
  return file('reconcile.js');
}

function later(seconds: number): string {
  return new Date(START + seconds * 1_000).toISOString();
}

/** What the source should have in a round. Half of it has no externalId. */
function drawDesired(round: number): Desired {
  const draw = (count: number, fields: (index: number) => object): Entry[] =>
    Array.from({ length: count }, (_, index) => index)
      .filter(() => random.chance(0.8))
      .map((index) => ({
        name: `number ${index}`,
        ...(index % 2 === 0 && { externalId: `key ${index}` }),
        ...fields(index),
      }));
  const labels = { round: String(round % 3) };
  const selector = { matchLabels: labels };
  return {
    monitors: draw(10, (index) => ({ url: `https://shop.example/${index}`, interval: 3_600, labels })),
    channels: draw(8, (index) => ({ url: `https://hooks.example/${index}`, selector })),
    maintenanceWindows: draw(8, () => ({ startsAt: later(0), endsAt: later(3_600), selector })),
  };
}

/** Sends a request of the other writer. @returns the body, or null without a response */
async function send(method: string, path: string, body?: object, etag?: string): Promise<unknown> {
  const headers = {
    Authorization: `Bearer ${writerKey}`,
    'Content-Type': 'application/json',
    ...(etag !== undefined && { 'If-Match': etag }),
  };
  return fetch(proxy.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    .then((response) => response.json())
    .catch(() => null);
}

/** Creates something that the reconciler wants, too, unless the request is lost. It has no source. */
async function createOne(desired: Desired): Promise<void> {
  const kind = random.pick(KINDS);
  const entry = desired[kind].find(({ externalId }) => externalId !== undefined);
  if (entry) await send('POST', PATHS[kind], entry);
}

/** Changes a resource as it was read, to a value that no other change has. */
async function editOne(): Promise<void> {
  const kind = random.pick(KINDS);
  const listed = await send('GET', `${PATHS[kind]}?source=${SOURCE}`);
  const records = (listed as Record<string, { id: string; etag: string }[]> | null)?.[kind] ?? [];
  if (records.length === 0) return;
  const { id, etag } = random.pick(records);
  edits += 1;
  const url = `https://edited.example/${edits}`;
  await send(
    'PATCH',
    `${PATHS[kind]}/${id}`,
    kind === 'maintenanceWindows' ? { endsAt: later(3_600 + edits) } : { url },
    etag,
  );
}

/** Runs the reconciler until it ends by itself. @param killAt number of the request before which it is killed and started again */
async function reconcile(desired: Desired, killAt = 0): Promise<void> {
  const file = join(system.folder, 'desired.json');
  await writeFile(file, JSON.stringify({ source: SOURCE, ...desired }));
  for (let requests = 0, signal: string | null = 'SIGKILL'; signal !== null;) {
    const child = spawn(process.execPath, [program, file, secretsFile], {
      env: { PATH: process.env['PATH'], TOCSIN_URL: proxy.url, TOCSIN_API_KEY: system.apiKey },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    proxy.onRequest = () => {
      requests += 1;
      if (requests === killAt) child.kill('SIGKILL');
    };
    const [code, by] = (await once(child, 'exit')) as [number | null, string | null];
    signal = by;
    expect([code, by]).toEqual(by === null ? [0, null] : [null, 'SIGKILL']);
  }
}

async function restartApi(): Promise<void> {
  await api.signal('SIGKILL');
  await api.start();
}

/** Finds resources that existed twice, and changes of a version that their author had not read. */
function findViolations(entries: readonly AuditEntry[]): string[] {
  const live = new Set<string>();
  /** Unknown after a change if the api was killed before its response. */
  const etags = new Map<string | null, string | undefined>();
  return entries.flatMap(({ action, target, requestId, actor }) => {
    const exchange = proxy.exchanges.get(requestId ?? '');
    const [type, change] = action.split('.');
    if (exchange === undefined || change === 'secretRevealed') return [];
    const resource = `${type} ${target.name}`;
    const etag = change === 'created' ? undefined : etags.get(target.id);
    const isStale = etag !== undefined && exchange.ifMatch !== etag;
    const isDouble = change === 'created' && live.has(resource);
    etags.set(target.id, exchange.etag);
    if (change === 'deleted') live.delete(resource);
    else live.add(resource);
    return isStale || isDouble ? [`${action} ${target.name} by ${actor.name}`] : [];
  });
}

/** What PostgreSQL has, and what it should have. */
async function compare(desired: Desired): Promise<[stored: unknown[], wanted: unknown[]]> {
  const { rows } = await system.database.pool.query<Record<string, unknown>>(`
    select 'monitors' as kind, name, external_id as "externalId", url from monitors
    union all select 'channels', name, external_id, url from channels where deleted_at is null
    union all select 'maintenanceWindows', name, external_id,
      to_char(ends_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') from maintenance_windows`);
  const wanted = KINDS.flatMap((kind) =>
    desired[kind].map(({ name, externalId = null, url, endsAt }) => ({
      kind,
      name,
      externalId,
      url: url ?? endsAt,
    })),
  );
  return [rows, wanted].map((list) => list.map((row) => JSON.stringify(row)).toSorted()) as [
    unknown[],
    unknown[],
  ];
}

test('a source converges without duplicates and lost updates, whatever is lost, killed or edited', async () => {
  proxy.shares = SHARES;
  let desired: Desired;
  let round = 0;
  do {
    round += 1;
    desired = drawDesired(round);
    await createOne(desired);
    const editing = async (): Promise<void> => {
      for (let count = 0; count < EDITS_PER_ROUND; count += 1) await editOne();
      if (round % 10 === 5) await restartApi();
    };
    await Promise.all([reconcile(desired, random.integer(1, 60)), editing()]);
    await reconcile(desired);
  } while (proxy.lostResponses < LOST_RESPONSES);

  proxy.shares = NO_LOSS;
  const known = proxy.exchanges.size;
  await reconcile(desired);
  const again = [...proxy.exchanges.values()].slice(known).map(({ method }) => method);
  expect(again).toEqual(['GET', 'GET', 'GET']);

  const [stored, wanted] = await compare(desired);
  expect(stored).toEqual(wanted);
  const { context } = system;
  const log = { limit: 100_000, since: '2000-01-01T00:00:00Z' };
  const entries = await listAuditEntries(context.db, context.accountId, log);
  expect(findViolations(entries)).toEqual([]);
  const audited = new Set(entries.map(({ requestId }) => requestId));
  const isLost = ([id, { method, status = 0 }]: [string, Exchange]): boolean =>
    method === 'PATCH' && status === 200 && !audited.has(id);
  expect([...proxy.exchanges].filter(isLost)).toEqual([]);

  const lines = (await readFile(secretsFile, 'utf8')).split('\n').filter(Boolean);
  const secrets = new Map(lines.map((line) => JSON.parse(line) as [string, string | null]));
  const created = entries.filter(
    ({ action, actor }) => action === 'channel.created' && actor.name === 'test',
  );
  const deleted = new Set(
    entries.filter(({ action }) => action === 'channel.deleted').map(({ target }) => target.id),
  );
  for (const { target } of created.filter(({ target }) => !deleted.has(target.id))) {
    const secret = await revealChannelSecret(context, systemActor(context.accountId), target.id ?? '');
    expect(secrets.get(target.id ?? '')).toBe(secret);
  }
});
