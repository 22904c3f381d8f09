import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { bearer } from '@tocsin/lab/api-client';
import type { System } from '@tocsin/lab/system';
import { distributionOf } from '../measure/percentiles.ts';
import { readPeakMemory, resetPeakMemory } from '../measure/proc.ts';
import { cpuMicros, measureUsage } from '../measure/usage.ts';
import { atMost, figure, type Figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import { MONITORS } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';

const COUNT = 50_000;
const INTERVAL_SECONDS = 3_600;
const REQUESTS = { warmUp: 3, list: 50, unchanged: 100, atOnce: 5 } as const;
const AT_ONCE = 4;
/** A process still grows after its start. Its usual memory is read after this many requests of other kinds. */
const USUAL_REQUESTS = 500;
const GZIP = { 'Accept-Encoding': 'gzip' };
const IDENTITY = { 'Accept-Encoding': 'identity' };

/** Lists all monitors of a large account, while nothing is checked. */
export async function runLists(bench: Bench): Promise<Measurement> {
  const { monitors = COUNT } = bench.options;
  const stage = await openStage(bench);
  const { system } = stage;
  const { pid } = await stage.startService('api');
  bench.say(`Inserting ${monitors} monitors …`);
  const ids = await stage.insertMonitors(monitors, INTERVAL_SECONDS);
  await addDetails(system, ids);
  await stage.untilScheduled();
  for (let index = 0; index < USUAL_REQUESTS; index += 1)
    await getResponse(system, `${MONITORS}/${ids[index % ids.length]}`);
  const usual = stage.usage().get('api')?.rssBytes ?? Number.NaN;

  /** Sends requests, several at a time. Adds the peak of the api's memory over its usual memory. */
  const measure = async (
    kind: string,
    headers: Record<string, string>,
    count: number,
    atOnce: number,
    maxP99Ms?: number,
  ): Promise<Figure[]> => {
    bench.say(`Measuring "${kind}" …`);
    const send = (): Promise<Received[]> =>
      Promise.all(Array.from({ length: atOnce }, () => getResponse(system, MONITORS, headers)));
    for (let index = 0; index < REQUESTS.warmUp; index += 1) await send();
    const taken: Received[] = [];
    resetPeakMemory(pid);
    const { usage } = await measureUsage(stage, async () => {
      for (let index = 0; index < count; index += 1) taken.push(...(await send()));
    });
    const peak = (readPeakMemory(pid) - usual) / 1e6;
    return [
      ...timesOf(kind, taken, cpuMicros(usage, ['api']) / 1_000, maxP99Ms),
      figure(`${kind}-memory`, '  peak memory of the api over its usual', peak, 'MB', { atMost: 100 }),
    ];
  };
  const { etag, body } = await getResponse(system, MONITORS, IDENTITY);
  return {
    settings: { monitors, requests: REQUESTS.list, atOnce: AT_ONCE },
    figures: [
      figure('size', `list of ${monitors} monitors`, body.length / 1e6, 'MB'),
      ...(await measure('gzip', GZIP, REQUESTS.list, 1, 1_500)),
      ...(await measure('identity', IDENTITY, REQUESTS.list, 1, 1_500)),
      ...(await measure('unchanged', { ...GZIP, 'If-None-Match': etag }, REQUESTS.unchanged, 1, 150)),
      ...(await measure('at-once', GZIP, REQUESTS.atOnce, AT_ONCE)),
      figure('usual-memory', 'usual memory of the api', usual / 1e6, 'MB'),
    ],
  };
}

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
  /** May be compressed. */
  readonly body: Buffer;
  readonly ms: number;
}

const agent = new Agent({ keepAlive: true });

/** @throws Error for any status but 200 and 304 */
async function getResponse(
  system: System,
  path: string,
  headers: Record<string, string> = {},
): Promise<Received> {
  const startedAt = performance.now();
  const sent = request({
    port: system.apiPort(),
    path,
    agent,
    headers: { ...bearer(system.apiKey), ...headers },
  }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const status = response.statusCode ?? 0;
  if (status !== 200 && status !== 304) throw new Error(`${path}: status ${status}`);
  const ms = performance.now() - startedAt;
  return { status, etag: response.headers.etag ?? '', body: Buffer.concat(chunks), ms };
}

function timesOf(kind: string, taken: readonly Received[], cpuMs: number, maxP99Ms?: number): Figure[] {
  const { p50, p99, max } = distributionOf(taken.map(({ ms }) => ms));
  const isList = taken[0]?.status === 200;
  const bytes = taken[0]?.body.length ?? Number.NaN;
  return [
    figure(`${kind}-p50`, `${isList ? 'list' : 'not modified'}, ${kind}: p50`, p50, 'ms'),
    figure(`${kind}-p99`, '  p99', p99, 'ms', atMost(maxP99Ms)),
    figure(`${kind}-max`, '  longest', max, 'ms'),
    figure(`${kind}-cpu`, '  CPU of the api', cpuMs / taken.length, 'ms'),
    ...(isList ? [figure(`${kind}-size`, '  bytes sent', bytes / 1e6, 'MB')] : []),
  ];
}
