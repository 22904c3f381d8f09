import { SERVICE_NAMES } from '../service-process.ts';
import type { Stores } from '../stores.ts';
import { MISBEHAVIORS } from '../world/receivers.ts';
import type { FaultKind, Fire } from './fault.ts';
import { killAtMaintenance } from './kill-at-maintenance.ts';
import { failNames, misbehave } from './names-and-receivers.ts';
import { blackHole, blackHoleLeader, killLeader, restartAll, setClock } from './replicas.ts';
import { signalAt, STAGES } from './stages.ts';
import { during, endSessions, exhaustConnections, fillRedis, serveAsStandby } from './stores.ts';

const MOMENT = [0, 0] as const;
const STOPPED = [3_000, 14_000] as const;
const CLOCK_OFF = [10_000, 16_000] as const;
/** Clock errors, by the suffix of the fault's name. */
const CLOCK_OFFSETS_SECONDS = {
  '': [60, -60],
  '-hour-ahead': [3_600],
  '-hour-behind': [-3_600],
  '-100-days-ahead': [100 * 24 * 3_600],
} as const;
/** Longer than an api can lead without its connection to Postgres. */
const BLACK_HOLE = [12_000, 20_000] as const;
const MISBEHAVING = [6_000, 12_000] as const;
/** Redis is paused for this long, in a short campaign and in a long one. */
const REDIS_PAUSED = { short: [20_000, 20_000], long: [60_000, 60_000] } as const;
const LONG_MINUTES = 3;

/**
 * Returns the kinds of faults that a campaign of this length fires at least once.
 * @param libfaketime path of the library that changes clocks
 */
export function faultKinds(minutes: number, libfaketime: string): readonly FaultKind[] {
  const paused = minutes >= LONG_MINUTES ? REDIS_PAUSED.long : REDIS_PAUSED.short;
  return [
    ...SERVICE_NAMES.flatMap((service) =>
      Object.entries(STAGES[service]).flatMap(([stage, reach]) => {
        const track = (how: string): string => (service === 'api' ? 'api' : `${service} ${how}`);
        return [
          kind(`kill-${service}-${stage}`, track('kill'), MOMENT, signalAt(service, 'SIGKILL', reach)),
          kind(`stop-${service}-${stage}`, track('stop'), STOPPED, signalAt(service, 'SIGSTOP', reach)),
        ];
      }),
    ),
    kind('kill-leader-api', 'api', MOMENT, killLeader('api')),
    kind('kill-leader-notifier', 'notifier kill', MOMENT, killLeader('notifier')),
    kind('kill-notifier-maintenance', 'notifier kill', MOMENT, killAtMaintenance),
    kind('redis-kill', 'redis', [1_000, 4_000], during(killRedis, startRedis)),
    kind('redis-flush', 'redis', MOMENT, during(flushRedis)),
    kind('redis-full', 'redis', [5_000, 9_000], fillRedis),
    kind('redis-pause', 'redis', paused, during(signalRedis('SIGSTOP'), signalRedis('SIGCONT'))),
    kind('postgres-restart', 'postgres', [500, 3_000], during(endPostgres('clean'), startPostgres)),
    kind('postgres-crash', 'postgres', [500, 2_000], during(endPostgres('crash'), startPostgres)),
    kind('postgres-terminate', 'postgres', MOMENT, endSessions),
    kind('postgres-exhaust', 'postgres', [6_000, 12_000], exhaustConnections),
    kind('postgres-standby', 'postgres', [5_000, 10_000], serveAsStandby),
    kind('blackhole-api', 'network', BLACK_HOLE, blackHoleLeader),
    kind('blackhole-checker', 'network', BLACK_HOLE, blackHole('checker')),
    kind('blackhole-notifier', 'network', BLACK_HOLE, blackHole('notifier')),
    ...MISBEHAVIORS.map((how) => kind(`receiver-${how}`, 'receivers', MISBEHAVING, misbehave(how))),
    kind('dns-fail', 'dns', [6_000, 12_000], failNames('fail')),
    kind('dns-hang', 'dns', [6_000, 12_000], failNames('hang')),
    ...SERVICE_NAMES.flatMap((service) =>
      Object.entries(CLOCK_OFFSETS_SECONDS).map(([suffix, offsets]) => {
        const fire = setClock(service, offsets, libfaketime);
        return kind(`clock-${service}${suffix}`, `${service} clock`, CLOCK_OFF, fire);
      }),
    ),
    kind('rolling-restart', 'rolling restart', MOMENT, restartAll),
  ];
}

function kind(name: string, track: string, lastsMs: FaultKind['lastsMs'], fire: Fire): FaultKind {
  return { name, track, lastsMs, fire };
}

function killRedis(stores: Stores): Promise<void> {
  return stores.killRedis();
}

function startRedis(stores: Stores): Promise<void> {
  return stores.startRedis();
}

function flushRedis(stores: Stores): Promise<string> {
  return stores.withRedis((redis) => redis.flushall());
}

function signalRedis(name: 'SIGSTOP' | 'SIGCONT'): (stores: Stores) => void {
  return (stores) => stores.signalRedis(name);
}

function endPostgres(how: 'clean' | 'crash'): (stores: Stores) => Promise<void> {
  return (stores) => stores.endPostgres(how);
}

function startPostgres(stores: Stores): Promise<void> {
  return stores.startPostgres();
}
