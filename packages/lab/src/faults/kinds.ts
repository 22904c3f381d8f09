import { SERVICE_NAMES } from '../service-process.ts';
import type { Stores } from '../stores.ts';
import { MISBEHAVIORS } from '../world/receivers.ts';
import type { FaultKind, Fire } from './fault.ts';
import { killAtMaintenance } from './kill-at-maintenance.ts';
import { failNames, misbehave } from './names-and-receivers.ts';
import { blackHole, killLeader, restartAll, setClock, signalAtStage } from './replicas.ts';
import { STAGES } from './stages.ts';
import { during, endSessions, exhaustConnections, fillRedis, flushRedis, serveAsStandby } from './stores.ts';

const MOMENT = [0, 0] as const;
const STOPPED = [3_000, 14_000] as const;
const CLOCK_OFF = [10_000, 16_000] as const;
/** Wrong clocks by the suffix of the name of their kind. */
const CLOCK_OFFSETS_SECONDS = {
  '': [60, -60],
  '-hour-ahead': [3_600],
  '-hour-behind': [-3_600],
  '-100-days-ahead': [100 * 24 * 3_600],
} as const;
/** Longer than an api may lead without its connection to Postgres. */
const BLACK_HOLE = [12_000, 20_000] as const;
const MISBEHAVING = [6_000, 12_000] as const;
/** Redis is paused this long in a short campaign and in a long one. */
const REDIS_PAUSED = { short: [20_000, 20_000], long: [60_000, 60_000] } as const;
const LONG_MINUTES = 3;

const killRedis = (stores: Stores): Promise<void> => stores.killRedis();
const startRedis = (stores: Stores): Promise<void> => stores.startRedis();
const signal = (name: 'SIGSTOP' | 'SIGCONT') => (stores: Stores) => stores.signalRedis(name);
const stop = (how: 'clean' | 'crash') => (stores: Stores) => stores.endPostgres(how);
const start = (stores: Stores): Promise<void> => stores.startPostgres();

/** Returns the kinds of faults that a campaign of this length fires at least once. */
export function faultKinds(minutes: number): readonly FaultKind[] {
  const paused = minutes >= LONG_MINUTES ? REDIS_PAUSED.long : REDIS_PAUSED.short;
  const needsReplica = true;
  return [
    ...SERVICE_NAMES.flatMap((service) =>
      Object.entries(STAGES[service]).flatMap(([stage, reach]) => {
        const isApi = service === 'api';
        const details = { victim: service, ...(isApi && { isDuringWrite: true as const }) };
        const track = (how: string): string => (isApi ? 'api' : `${service} ${how}`);
        return [
          kind(`kill-${service}-${stage}`, track('kill'), MOMENT, signalAtStage('SIGKILL', reach), details),
          kind(`stop-${service}-${stage}`, track('stop'), STOPPED, signalAtStage('SIGSTOP', reach), details),
        ];
      }),
    ),
    kind('kill-leader-api', 'api', MOMENT, (scene) => killLeader(scene, 'api')),
    kind('kill-leader-notifier', 'notifier kill', MOMENT, (scene) => killLeader(scene, 'notifier')),
    kind('kill-notifier-maintenance', 'notifier kill', MOMENT, killAtMaintenance, { needsReplica }),
    kind('redis-kill', 'redis', [1_000, 4_000], during({ begin: killRedis, end: startRedis })),
    kind('redis-flush', 'redis', MOMENT, flushRedis),
    kind('redis-full', 'redis', [5_000, 9_000], fillRedis),
    kind('redis-pause', 'redis', paused, during({ begin: signal('SIGSTOP'), end: signal('SIGCONT') })),
    kind('postgres-restart', 'postgres', [500, 3_000], during({ begin: stop('clean'), end: start })),
    kind('postgres-crash', 'postgres', [500, 2_000], during({ begin: stop('crash'), end: start })),
    kind('postgres-terminate', 'postgres', MOMENT, endSessions),
    kind('postgres-exhaust', 'postgres', [6_000, 12_000], exhaustConnections),
    kind('postgres-standby', 'postgres', [5_000, 10_000], serveAsStandby),
    // Without a victim, the fault hits the leading api.
    kind('blackhole-api', 'network', BLACK_HOLE, blackHole, { needsReplica }),
    kind('blackhole-checker', 'network', BLACK_HOLE, blackHole, { victim: 'checker', needsReplica }),
    kind('blackhole-notifier', 'network', BLACK_HOLE, blackHole, { victim: 'notifier', needsReplica }),
    ...MISBEHAVIORS.map((how) =>
      kind(`receiver-${how}`, 'receivers', MISBEHAVING, misbehave(how), { victim: 'receiver' }),
    ),
    kind('dns-fail', 'dns', [6_000, 12_000], failNames('fail')),
    kind('dns-hang', 'dns', [6_000, 12_000], failNames('hang')),
    ...SERVICE_NAMES.flatMap((service) =>
      Object.entries(CLOCK_OFFSETS_SECONDS).map(([suffix, offsetsSeconds]) => {
        const details = { victim: service, offsetsSeconds, needsReplica } as const;
        return kind(`clock-${service}${suffix}`, `${service} clock`, CLOCK_OFF, setClock, details);
      }),
    ),
    kind('rolling-restart', 'rolling restart', MOMENT, restartAll, { needsReplica }),
  ];
}

function kind(
  name: string,
  track: string,
  lastsMs: FaultKind['lastsMs'],
  fire: Fire,
  details: Partial<FaultKind> = {},
): FaultKind {
  return { name, track, lastsMs, victim: null, fire, ...details };
}
