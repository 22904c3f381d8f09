import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { bearer } from '@tocsin/lab/api-client';
import { untilScheduled } from '@tocsin/lab/monitors';
import type { System } from '@tocsin/lab/system';
import { distributionOf } from '../measure/percentiles.ts';
import { readPeakMemory, resetPeakMemory } from '../measure/proc.ts';
import { timeOf } from '../measure/requests.ts';
import { figure, type Figure } from '../report/figure.ts';
import { measureUsage, openStage } from '../stage.ts';
import { MONITORS } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';

const COUNT = 50_000;
const INTERVAL_SECONDS = 3_600;
const REQUESTS = { warmUp: 3, list: 50, unchanged: 100, atOnce: 5, bare: 5 } as const;
const AT_ONCE = 4;
/** Requests of other kinds before the usual memory is read: after its start, a process still grows. */
const USUAL_REQUESTS = 500;

/** Listing all monitors of a large account, while nothing is checked. */
export async function runLists(bench: Bench): Promise<Measurement> {
  const { monitors = COUNT } = bench.options;
  const stage = await openStage(bench);
  const { system, redis } = stage;
  if (redis === null) throw new Error('the queue is not on Redis');
  await stage.startService('api');
  bench.say(`Inserting ${monitors} monitors …`);
  const ids = await stage.insertMonitors(monitors, INTERVAL_SECONDS);
  await addDetails(system, ids);
  await untilScheduled(system, redis);
  const pid = stage.running('api')[0]?.pid ?? 0;
  for (let index = 0; index < USUAL_REQUESTS; index += 1) await get(system, `${MONITORS}/${ids[index]}`);
  const usual = stage.usage().get('api')?.rssBytes ?? Number.NaN;
  /** How much more memory the api has at its peak than it usually has. */
  const peakOf = async (work: () => Promise<void>): Promise<number> => {
    resetPeakMemory(pid);
    await work();
    return readPeakMemory(pid) - usual;
  };

  const measure = async (kind: string, headers: Record<string, string>, count: number): Promise<Figure[]> => {
    bench.say(`Measuring "${kind}" …`);
    for (let index = 0; index < REQUESTS.warmUp; index += 1) await get(system, MONITORS, headers);
    const taken: Received[] = [];
    let peak = 0;
    const { usage } = await measureUsage(stage, async () => {
      peak = await peakOf(async () => {
        for (let index = 0; index < count; index += 1) taken.push(await get(system, MONITORS, headers));
      });
    });
    return [...timesOf(kind, taken, usage.get('api')?.cpuMs ?? Number.NaN), over(`${kind}-memory`, peak)];
  };
  const from = process.hrtime.bigint();
  const { etag, body } = await get(system, MONITORS, IDENTITY);
  const figures = [
    figure('size', `list of ${monitors} monitors`, body.length / 1e6, 'MB'),
    ...(await measure('gzip', GZIP, REQUESTS.list)),
    ...(await measure('identity', IDENTITY, REQUESTS.list)),
    ...(await measure('unchanged', { ...GZIP, 'If-None-Match': etag }, REQUESTS.unchanged)),
    ...(await measureAtOnce(system, peakOf)),
    ...(await measureBare(system, body)),
    figure('usual-memory', 'usual memory of the api', usual / 1e6, 'MB'),
  ];
  return {
    settings: { monitors, requests: REQUESTS.list, atOnce: AT_ONCE },
    figures,
    ...(await stage.profileNotes({ from, to: process.hrtime.bigint() })),
  };
}

const GZIP = { 'Accept-Encoding': 'gzip' };
const IDENTITY = { 'Accept-Encoding': 'identity' };

/** Gives every second monitor a secret header, labels and an `externalId`. */
async function addDetails({ database, context }: System, ids: readonly string[]): Promise<void> {
  const some = ids.filter((_, index) => index % 2 === 0);
  const sealed = some.map((id) => context.secrets.encrypt(`Bearer ${id}`));
  await database.pool.query(
    `update monitors m set sealed_headers = jsonb_build_object('Authorization', u.sealed), external_id = m.name,
       source = 'bench', labels = '{"app": "shop", "tier": "web"}', last_checked_at = now()
     from unnest($1::uuid[], $2::text[]) as u (id, sealed) where m.id = u.id`,
    [some, sealed],
  );
  await database.pool.query('vacuum analyze monitors');
}

interface Received {
  readonly status: number;
  readonly etag: string;
  readonly body: Buffer;
  readonly firstByteMs: number;
  readonly ms: number;
}

const agent = new Agent({ keepAlive: true });

async function get(system: System, path: string, headers: Record<string, string> = {}): Promise<Received> {
  const startedAt = performance.now();
  const sent = request({
    port: system.apiPort(),
    path,
    agent,
    headers: { ...bearer(system.apiKey), ...headers },
  }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  let firstByteMs = Number.NaN;
  for await (const chunk of response) {
    if (chunks.length === 0) firstByteMs = performance.now() - startedAt;
    chunks.push(chunk as Buffer);
  }
  const status = response.statusCode ?? 0;
  if (status !== 200 && status !== 304) throw new Error(`${path}: status ${status}`);
  const ms = performance.now() - startedAt;
  return { status, etag: response.headers.etag ?? '', body: Buffer.concat(chunks), firstByteMs, ms };
}

function timesOf(kind: string, taken: readonly Received[], cpuMs: number): Figure[] {
  const { p50, p99 } = distributionOf(taken.map(({ ms }) => ms));
  const [first] = taken;
  const isList = first?.status === 200;
  const firstByte = distributionOf(taken.map(({ firstByteMs }) => firstByteMs));
  return [
    figure(`${kind}-p50`, `${isList ? 'list' : 'not modified'}, ${kind}: p50`, p50, 'ms'),
    figure(`${kind}-p99`, '  p99', p99, 'ms'),
    ...(isList ? [figure(`${kind}-first-byte-p99`, '  first byte p99', firstByte.p99, 'ms')] : []),
    figure(`${kind}-cpu`, '  CPU of the api', cpuMs / taken.length, 'ms'),
    ...(isList ? [figure(`${kind}-size`, '  bytes sent', first.body.length / 1e6, 'MB')] : []),
  ];
}

function over(key: string, bytes: number): Figure {
  return figure(key, '  peak memory of the api over its usual', bytes / 1e6, 'MB');
}

async function measureAtOnce(
  system: System,
  peakOf: (work: () => Promise<void>) => Promise<number>,
): Promise<Figure[]> {
  const taken: number[] = [];
  const memory = await peakOf(async () => {
    for (let round = 0; round < REQUESTS.atOnce; round += 1) {
      const responses = Array.from({ length: AT_ONCE }, () => get(system, MONITORS, GZIP));
      taken.push(...(await Promise.all(responses)).map(({ ms }) => ms));
    }
  });
  return [
    figure('at-once-max', `${AT_ONCE} lists at a time: longest`, Math.max(...taken), 'ms'),
    over('at-once-memory', memory),
  ];
}

async function median(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < REQUESTS.bare; index += 1) times.push(await timeOf(work));
  return distributionOf(times).p50;
}

/** What the work of PostgreSQL and zlib takes alone. */
async function measureBare({ database, context }: System, body: Buffer): Promise<Figure[]> {
  const rows = `select * from monitors where account_id = '${context.accountId}' order by created_at desc, id desc`;
  const read = (text: string) => median(() => database.pool.query(text));
  return [
    figure(
      'bare-sql',
      'bare: PostgreSQL reads the rows',
      await read(`explain (analyze, serialize) ${rows}`),
      'ms',
    ),
    figure('bare-client', '  and Node.js receives them', await read(rows), 'ms'),
    figure('bare-gzip', '  compress the list', await median(() => promisify(gzip)(body, { level: 1 })), 'ms'),
  ];
}
