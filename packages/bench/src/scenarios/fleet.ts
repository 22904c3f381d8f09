import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createCertificate } from '@tocsin/embedded/certificates';
import { ADMIN_ENV } from '@tocsin/lab/dashboard-session';
import { insertMonitors, timeoutSeconds } from '@tocsin/lab/monitors';
import { startTraffic } from '../fleet/api-traffic.ts';
import { cpuFigures, fleetMemoryFigures, historyFigures, slotFigures } from '../fleet/figures.ts';
import { alertFigures, compareAlerts } from '../fleet/find-alerts.ts';
import { startNameServers, type NameServers } from '../fleet/name-servers.ts';
import { observe } from '../fleet/observe.ts';
import { hostsOf, TARGET_ADDRESSES, targetOf, ZONE } from '../fleet/plan.ts';
import { requireDisk, withClient } from '../measure/past-days.ts';
import type { WebhookArrival } from '../processes/target.ts';
import { openStage, type Stage } from '../stage.ts';
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
/** Code that has just started is still being compiled, and no name is in a cache. */
const WARM_UP_MS = 30_000;

/** Runs a fleet for hours as in production, with names, slow and hanging targets, outages, an api in use, and a history that turns over. */
export async function runFleet(bench: Bench): Promise<Measurement> {
  const { monitors = 120_000, interval = 60, seconds = 7_200, checkers = 2 } = bench.options;
  const stage = await openStage(bench, { partitionMinutes: PARTITION_MINUTES });
  const { system } = stage;
  const keptSeconds = Math.min(seconds, RETENTION_DAYS * 86_400);
  await requireDisk(system.folder, (monitors / interval) * keptSeconds * BYTES_PER_EVENT);
  const names = await startNameServers(bench, system.folder, hostsOf(monitors));
  for (const [name, pid] of names.pids) stage.addProgram(name, pid);
  const targets = await startFleet(bench, stage, names, { monitors, interval, checkers });
  const all = targets.map(({ id }) => id);
  const [hanging, flapping] = ['hanging', 'flapping'].map((wanted) =>
    targets.flatMap(({ id, kind }) => (kind === wanted ? [id] : [])),
  );
  const ids = { all, hanging: hanging ?? [], flapping: flapping ?? [] };
  const phases = new Map(
    targets.flatMap(({ id, flapPhaseMs }) => (flapPhaseMs === null ? [] : [[id, flapPhaseMs] as const])),
  );
  const [api] = stage.running('api');
  if (api === undefined) throw new Error('no api is running');
  const stopTraffic = await startTraffic(bench, system, api, all);
  bench.say(`Measuring for ${seconds} s …`);
  const observation = await withClient(system, (client) =>
    observe(bench, stage, client, ids, { interval, seconds }),
  );
  const { span, samples } = observation;
  const apiFigures = await stopTraffic();
  const arrivals = await stage.receiver.process.request<WebhookArrival[]>({ type: 'take' });
  const alerts = compareAlerts(arrivals, phases, span, interval * 1_000);
  return {
    settings: { monitors, interval, seconds, checkers, ...SHORT_PERIODS },
    figures: [
      ...slotFigures(observation),
      ...alertFigures(alerts),
      ...cpuFigures(observation, [...names.pids.keys()]),
      ...apiFigures,
      ...historyFigures(samples),
      ...fleetMemoryFigures(samples),
    ],
    notes: alerts.unexpected.slice(0, SHOWN_ALERTS).map((alert) => `unexpected: ${JSON.stringify(alert)}`),
  };
}

/** Starts the targets and the services, and waits until each monitor was checked, if the system keeps up. */
async function startFleet(
  bench: Bench,
  stage: Stage,
  { launcher }: NameServers,
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
    stage.startService('api', { ...ADMIN_ENV, ...SHORT_PERIODS }),
    stage.startService('notifier'),
    stage.startCheckers(checkers, { CHECK_CA_FILE: caFile }, { launcher }),
  ]);
  await stage.untilScheduled();
  bench.say('Waiting until each is checked …');
  await wait((interval + timeoutSeconds(interval)) * 1_000 + WARM_UP_MS);
  return ids.map((id, number) => Object.assign(targetOf(number), { id }));
}
