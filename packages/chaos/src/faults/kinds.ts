import { SERVICE_NAMES, type ServiceName } from '@tocsin/lab/service-process';
import type { Scene } from '../campaign/scene.ts';
import { MISBEHAVIOURS } from '../world/receivers.ts';
import type { FaultKind, Firing, PlannedFault } from './fault.ts';
import { killAtMaintenance } from './kill-at-maintenance.ts';
import { failNames, misbehave } from './names-and-receivers.ts';
import { blackHole, killLeader, restartAll, setClock, signalAtStage } from './replicas.ts';
import { STAGES } from './stages.ts';
import {
  crashPostgres,
  endSessions,
  exhaustConnections,
  fillRedis,
  flushRedis,
  killRedis,
  pauseRedis,
  restartPostgres,
  serveAsStandby,
} from './stores.ts';

const MOMENT = [0, 0] as const;
const STOPPED = [3_000, 14_000] as const;
const CLOCK_OFF = [10_000, 16_000] as const;
/** Wrong clocks, by the suffix of their kinds' names. */
const CLOCK_OFFSETS_SECONDS = {
  '': [60, -60],
  '-hour-ahead': [3_600],
  '-hour-behind': [-3_600],
  '-100-days-ahead': [100 * 24 * 3_600],
} as const;
/** Longer than an api may lead without its connection to Postgres. */
const BLACK_HOLE = [12_000, 20_000] as const;
const MISBEHAVING = [6_000, 12_000] as const;
/** How long Redis is paused, in a short campaign and in one that has the time for it. */
const REDIS_PAUSED = { short: [20_000, 20_000], long: [60_000, 60_000] } as const;
const LONG_MINUTES = 3;

/** Every kind of fault that a campaign of this length fires at least once. */
export function faultKinds(minutes: number): readonly FaultKind[] {
  const paused = minutes >= LONG_MINUTES ? REDIS_PAUSED.long : REDIS_PAUSED.short;
  const redis = (name: string, lastsMs: FaultKind['lastsMs'], fire: FaultKind['fire']): FaultKind =>
    kind(`redis-${name}`, 'redis', lastsMs, fire);
  const postgres = (name: string, lastsMs: FaultKind['lastsMs'], fire: FaultKind['fire']): FaultKind =>
    kind(`postgres-${name}`, 'postgres', lastsMs, fire);
  return [
    ...SERVICE_NAMES.flatMap(signalKinds),
    kind('kill-leader-api', 'api', MOMENT, (scene) => killLeader(scene, 'api')),
    kind('kill-leader-notifier', 'notifier kill', MOMENT, (scene) => killLeader(scene, 'notifier')),
    kind('kill-notifier-maintenance', 'notifier kill', MOMENT, killAtMaintenance, { needsReplica: true }),
    redis('kill', [1_000, 4_000], killRedis),
    redis('flush', MOMENT, flushRedis),
    redis('full', [5_000, 9_000], fillRedis),
    redis('pause', paused, pauseRedis),
    postgres('restart', [500, 3_000], restartPostgres),
    postgres('crash', [500, 2_000], crashPostgres),
    postgres('terminate', MOMENT, endSessions),
    postgres('exhaust', [6_000, 12_000], exhaustConnections),
    postgres('standby', [5_000, 10_000], serveAsStandby),
    ...SERVICE_NAMES.map((service) =>
      kind(`blackhole-${service}`, 'network', BLACK_HOLE, blackHole, {
        // Of the api it hits the leader.
        victim: service === 'api' ? null : service,
        needsReplica: true,
      }),
    ),
    ...MISBEHAVIOURS.map((misbehaviour) =>
      kind(
        `receiver-${misbehaviour}`,
        'receivers',
        MISBEHAVING,
        (scene, fault) => misbehave(scene, fault, misbehaviour),
        { victim: 'receiver' },
      ),
    ),
    ...(['fail', 'hang'] as const).map((how) =>
      kind(`dns-${how}`, 'dns', [6_000, 12_000], (scene, fault) => failNames(scene, fault, how)),
    ),
    ...SERVICE_NAMES.flatMap(clockKinds),
    kind('rolling-restart', 'rolling restart', MOMENT, restartAll, { needsReplica: true }),
  ];
}

function signalKinds(service: ServiceName): FaultKind[] {
  const details = { victim: service, ...(service === 'api' && { isDuringWrite: true as const }) };
  return STAGES[service].flatMap((stage) =>
    (['kill', 'stop'] as const).map((how) =>
      kind(
        `${how}-${service}-${stage}`,
        service === 'api' ? 'api' : `${service} ${how}`,
        how === 'kill' ? MOMENT : STOPPED,
        (scene, fault) =>
          signalAtStage(scene, fault, { signal: how === 'kill' ? 'SIGKILL' : 'SIGSTOP', service, stage }),
        details,
      ),
    ),
  );
}

function clockKinds(service: ServiceName): FaultKind[] {
  return Object.entries(CLOCK_OFFSETS_SECONDS).map(([suffix, offsetsSeconds]) =>
    kind(`clock-${service}${suffix}`, `${service} clock`, CLOCK_OFF, setClock, {
      victim: service,
      offsetsSeconds,
      needsReplica: true,
    }),
  );
}

function kind(
  name: string,
  track: string,
  lastsMs: FaultKind['lastsMs'],
  fire: (scene: Scene, fault: PlannedFault) => Promise<Firing>,
  details: Partial<FaultKind> = {},
): FaultKind {
  return { name, track, lastsMs, victim: null, fire, ...details };
}
