import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { createCertificate } from '@tocsin/embedded/certificates';
import { ADMIN_ENV } from '@tocsin/lab/dashboard-session';
import { insertMonitors, timeoutSeconds, untilScheduled } from '@tocsin/lab/monitors';
import type { Bench } from '../scenarios/scenario.ts';
import type { Stage } from '../stage.ts';
import type { NameServers } from './name-servers.ts';
import { TARGET_ADDRESSES, targetOf, ZONE } from './plan.ts';
import type { FleetIds } from './windows.ts';

const EVENTS: readonly WebhookEvent[] = ['monitor.down', 'monitor.up'];
/** Code that has just started is still being compiled, and no name is in a cache. */
const WARM_UP_MS = 30_000;

export interface FleetSize {
  readonly monitors: number;
  readonly interval: number;
  readonly checkers: number;
}

export interface Fleet {
  readonly ids: FleetIds;
  /** When the periods of the flapping targets start, by monitor. */
  readonly phases: ReadonlyMap<string, number>;
}

/**
 * Starts the targets and the services, with a channel for all monitors, and waits until each monitor was checked, if the system keeps up.
 * @param apiEnv settings of the api
 */
export async function startFleet(
  bench: Bench,
  stage: Stage,
  { launcher }: NameServers,
  { monitors, interval, checkers }: FleetSize,
  apiEnv: Readonly<Record<string, string>>,
): Promise<Fleet> {
  const { system, redis, receiver, target } = stage;
  if (redis === null) throw new Error('the queue is not on Redis');
  const { ca, ...tls } = await createCertificate([`*.${ZONE}`]);
  const caFile = join(system.folder, 'fleet-ca.pem');
  await writeFile(caFile, ca);
  const listen = async (certificate: typeof tls | null): Promise<number> => {
    const message = { type: 'start', tls: certificate, addresses: TARGET_ADDRESSES } as const;
    return (await target.request<{ port: number }>(message)).port;
  };
  const ports = { http: await listen(null), https: await listen(tls) };
  bench.say(`Inserting ${monitors} monitors …`);
  const all = await insertMonitors(system, {
    count: monitors,
    intervalSeconds: interval,
    url: (number) => {
      const { protocol, host, path } = targetOf(number);
      return `${protocol}://${host}:${ports[protocol]}${path}`;
    },
  });
  // So that none gets the first check of a new monitor at once, beside those of its schedule.
  await system.database.pool.query(
    'update monitor_regions set scheduled_revision = 1, last_result_at = now()',
  );
  await createChannel(system.context, systemActor(system.context.accountId), {
    name: 'alerts',
    url: receiver.url('/hook'),
    monitorIds: [],
    allMonitors: true,
    events: [...EVENTS],
  });
  const numbers = Array.from({ length: checkers }, (_, index) => `checker ${index + 1}`);
  await Promise.all([
    stage.startService('api', { ...ADMIN_ENV, ...apiEnv }),
    stage.startService('notifier'),
    ...numbers.map((name) => stage.startService(name, { CHECK_CA_FILE: caFile }, { launcher })),
  ]);
  await untilScheduled(system, redis);
  bench.say('Waiting until each is checked …');
  await wait((interval + timeoutSeconds(interval)) * 1_000 + WARM_UP_MS);
  const targets = all.map((id, number) => ({ id, ...targetOf(number) }));
  const idsOf = (wanted: string): string[] =>
    targets.flatMap(({ id, kind }) => (kind === wanted ? [id] : []));
  return {
    ids: { all, hanging: idsOf('hanging'), flapping: idsOf('flapping') },
    phases: new Map(
      targets.flatMap(({ id, flapPhaseMs }) => (flapPhaseMs === null ? [] : [[id, flapPhaseMs] as const])),
    ),
  };
}
