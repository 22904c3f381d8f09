import { Agent } from 'node:http';
import type { System } from '@tocsin/lab/system';
import { measureCalls, sendCall, type CallPlan } from '../measure/requests.ts';
import { figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import { getsOf, MONITORS } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';

const INTERVAL_SECONDS = 3_600;
const LIST = { method: 'GET', path: MONITORS };
const GZIP = { 'Accept-Encoding': 'gzip' };
const IDENTITY = { 'Accept-Encoding': 'identity' };
const ONE = { calls: [LIST], clients: 1, warmUpSeconds: 6 };

/** Lists all monitors of a large account, while nothing is checked. */
export async function runLists(bench: Bench): Promise<Measurement> {
  const { monitors = 50_000, seconds = 60 } = bench.options;
  const stage = await openStage(bench);
  const { system } = stage;
  await stage.startService('api');
  bench.say(`Inserting ${monitors} monitors …`);
  const ids = await stage.insertMonitors(monitors, INTERVAL_SECONDS);
  await addDetails(system, ids);
  await stage.untilScheduled();
  const agent = new Agent();
  const { etag } = await sendCall(system, agent, LIST, IDENTITY);
  const label = `list of ${monitors} monitors`;
  const plans: CallPlan[] = [
    // A process still grows after its start, so its usual memory is that of other requests.
    { ...ONE, key: 'usual', label: 'single monitors, for the usual memory', calls: getsOf(ids), seconds: 5 },
    { ...ONE, key: 'gzip', label: `${label}, compressed`, headers: GZIP, seconds, maxP99Ms: 1_500 },
    {
      ...ONE,
      key: 'identity',
      label: `${label}, not compressed`,
      headers: IDENTITY,
      seconds,
      maxP99Ms: 1_500,
    },
    {
      ...ONE,
      key: 'unchanged',
      label: 'not modified',
      headers: { 'If-None-Match': etag },
      seconds: 5,
      maxP99Ms: 150,
    },
    { ...ONE, key: 'at-once', label: 'four at once', headers: GZIP, seconds, clients: 4 },
  ];
  const figures = [];
  for (const plan of plans) figures.push(await measureCalls(bench, stage, plan));
  const [usual = Number.NaN, ...peaks] = figures.map((all) => all.at(-1)?.value ?? Number.NaN);
  const additional = Math.max(...peaks) - usual;
  return {
    settings: { monitors, seconds },
    figures: [
      ...figures.flat(),
      figure('memory', 'additional memory of the api for a list', additional, 'MB', { atMost: 100 }),
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
