import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { readPartitions } from '@tocsin/db/database/partitions';
import { createCertificate } from '@tocsin/embedded/certificates';
import { insertMonitors, timeoutSeconds } from '@tocsin/lab/monitors';
import type { System } from '@tocsin/lab/system';
import { alertFigures, compareAlerts } from '../fleet/find-alerts.ts';
import { startNameServer } from '../fleet/name-server.ts';
import { observe } from '../fleet/observe.ts';
import { TARGET_ADDRESSES, targetOf, ZONE } from '../fleet/plan.ts';
import { lagFigures, readLag } from '../measure/checks.ts';
import { subtractHistogram } from '../measure/histogram.ts';
import { requireDisk, withClient } from '../measure/past-days.ts';
import { cpuPerCheck, measureUsage } from '../measure/usage.ts';
import type { WebhookArrival } from '../processes/target.ts';
import { figure } from '../report/figure.ts';
import { openStage, type Stage } from '../stage.ts';
import { MONITORS } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';

const RETENTION_DAYS = 0.05;
const PARTITION_MINUTES = 20;
/** Short days and hours, so that two hours turn over what takes months in production. */
const SHORT_PERIODS = {
  EVENT_PARTITION_MINUTES: String(PARTITION_MINUTES),
  ROLLUP_PERIOD_MINUTES: '10',
  EVENT_RETENTION_DAYS: String(RETENTION_DAYS),
};
/** Events with their index, and the write-ahead log of Postgres. */
const BYTES_PER_EVENT = 350;
const SHOWN_ALERTS = 20;
/** Retention, partition length, and time until the next maintenance run. */
const MAX_AGE_MINUTES = RETENTION_DAYS * 1_440 + PARTITION_MINUTES + 15;
const EVENTS_SINCE_MS = 300_000;
/** The list of all monitors is large. */
const LIST_EVERY = 300;
/** Code that has just started is still being compiled, and no name is in a cache. */
const WARM_UP_MS = 30_000;

/** Runs a fleet for hours as in production, with names, slow and hanging targets, outages, an api in use, and a history that turns over. */
export async function runFleet(bench: Bench): Promise<Measurement> {
  const { monitors = 120_000, interval = 60, seconds = 7_200, checkers = 2 } = bench.options;
  const stage = await openStage(bench, { partitionMinutes: PARTITION_MINUTES });
  const { system } = stage;
  const keptSeconds = Math.min(seconds, RETENTION_DAYS * 86_400);
  await requireDisk(system.folder, (monitors / interval) * keptSeconds * BYTES_PER_EVENT);
  const names = await startNameServer(bench, system.folder, monitors);
  stage.addProgram('names', names.pid);
  const targets = await startFleet(bench, stage, names.launcher, { monitors, interval, checkers });
  const all = targets.map(({ id }) => id);
  const idsOf = (wanted: string): string[] =>
    targets.flatMap(({ id, kind }) => (kind === wanted ? [id] : []));
  const ids = { all, hanging: idsOf('hanging'), flapping: idsOf('flapping') };
  const phases = new Map(
    targets.flatMap(({ id, flapPhaseMs }) => (flapPhaseMs === null ? [] : [[id, flapPhaseMs] as const])),
  );
  const stopTraffic = startTraffic(bench, system, all);
  bench.say(`Measuring for ${seconds} s …`);
  const lagBefore = await readLag(stage);
  const { usage, span, result } = await measureUsage(stage, () =>
    withClient(system, (client) => observe(bench, stage, client, ids, { interval, seconds })),
  );
  // Checks continue at the same rate until the last window is counted.
  const overrun = (span.to - span.from) / (result.span.to - result.span.from);
  const lag = subtractHistogram(await readLag(stage), lagBefore);
  const failures = await stopTraffic();
  const arrivals = await stage.receiver.process.request<WebhookArrival[]>({ type: 'take' });
  const alerts = compareAlerts(arrivals, phases, result.span, interval * 1_000);
  const blocks = await readPartitions(system.database.db, 'event_blocks');
  const expired = [...result.packed].filter((name) => blocks.every((block) => block.name !== name));
  const oldestMinutes = (Date.now() - (blocks[0]?.start ?? Number.NaN)) / 60_000;
  return {
    settings: { monitors, interval, seconds, checkers, ...SHORT_PERIODS },
    figures: [
      ...result.figures,
      ...lagFigures(lag, 1_000),
      ...alertFigures(alerts),
      ...cpuPerCheck(usage, result.recorded * overrun),
      figure('api-failures', 'requests to the api without 2xx', failures, '', { atMost: 0 }),
      figure('packed', 'partitions of events packed', result.packed.size, '', { atLeast: 3 }),
      figure('expired', '  dropped after the retention', expired.length, '', { atLeast: 1 }),
      figure('oldest', 'age of the oldest packed event', oldestMinutes, 'min', { atMost: MAX_AGE_MINUTES }),
    ],
    notes: alerts.unexpected.slice(0, SHOWN_ALERTS).map((alert) => `unexpected: ${JSON.stringify(alert)}`),
  };
}

/**
 * Sends a request every second, for a monitor, its latest events, or now and then the list of all monitors. Reports each failure at once.
 * @returns a function that ends the traffic and returns the number of failures
 */
function startTraffic({ say, teardown }: Bench, system: System, ids: readonly string[]) {
  const ending = new AbortController();
  const { signal } = ending;
  let failures = 0;
  const run = async (): Promise<void> => {
    for (let turn = 0; !signal.aborted; turn += 1) {
      // A large step, so that the requests are of different hosts.
      const path = `${MONITORS}/${ids[(turn * 7_919) % ids.length]}`;
      const since = new Date(Date.now() - EVENTS_SINCE_MS).toISOString();
      const paths = [path, `${path}/events?since=${since}`];
      const wanted = turn % LIST_EVERY === 0 ? MONITORS : paths[turn % paths.length];
      const status = await system.request('GET', wanted ?? MONITORS).then(
        (response) => response.status,
        (error: unknown) => String(error),
      );
      if (status !== 200) {
        failures += 1;
        say(`FAILED: GET ${wanted}: ${status}`);
      }
      await wait(1_000, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = run();
  const end = async (): Promise<number> => {
    ending.abort();
    await running;
    return failures;
  };
  teardown.onStop(end);
  return end;
}

/** Starts the targets and the services, and waits until each monitor was checked, if the system keeps up. */
async function startFleet(
  bench: Bench,
  stage: Stage,
  launcher: readonly [program: string, ...args: string[]],
  options: Readonly<Record<'monitors' | 'interval' | 'checkers', number>>,
) {
  const { monitors, interval, checkers } = options;
  const { system, target } = stage;
  const { ca, ...tls } = await createCertificate([`*.${ZONE}`]);
  const caFile = join(system.folder, 'fleet-ca.pem');
  await writeFile(caFile, ca);
  const listen = (certificate: typeof tls | null): Promise<number> =>
    target.request({ type: 'listen', tls: certificate, addresses: TARGET_ADDRESSES });
  const ports = { http: await listen(null), https: await listen(tls) };
  bench.say(`Inserting ${monitors} monitors …`);
  const ids = await insertMonitors(system, {
    count: monitors,
    intervalSeconds: interval,
    url: (number) => {
      const { protocol, host, path } = targetOf(number);
      return `${protocol}://${host}:${ports[protocol]}${path}`;
    },
  });
  // Otherwise each monitor would get the immediate first check of a new monitor.
  await system.database.pool.query(
    'update monitor_regions set scheduled_revision = 1, last_result_at = now()',
  );
  await stage.alertAll(system.context.accountId, stage.receiver);
  await Promise.all([
    stage.startService('api', SHORT_PERIODS),
    stage.startService('notifier'),
    stage.startCheckers(checkers, { CHECK_CA_FILE: caFile }, { launcher }),
  ]);
  await stage.untilScheduled();
  bench.say('Waiting until each is checked …');
  await wait((interval + timeoutSeconds(interval)) * 1_000 + WARM_UP_MS);
  return ids.map((id, number) => Object.assign(targetOf(number), { id }));
}
