import type { ServiceName } from '@tocsin/lab/service-process';

/** Where in its work a process is hit. */
export const STAGES = {
  api: ['before-commit', 'after-commit'],
  checker: ['probing', 'before-commit', 'after-commit'],
  notifier: ['fan-out', 'before-send', 'after-send', 'before-commit', 'after-commit'],
} as const satisfies Record<ServiceName, readonly string[]>;
const SERVICES = Object.keys(STAGES) as ServiceName[];
export type Stage = (typeof STAGES)[ServiceName][number];

/** What an api is asked for when it is to be hit. */
export const API_WRITES = [
  'monitor created',
  'monitor updated',
  'monitor deleted',
  'maintenance planned',
  'delivery redelivered',
] as const;
export type ApiWrite = (typeof API_WRITES)[number];

export const MISBEHAVIOURS = ['hang', 'reset', '500', '429', '301', 'drop', '410'] as const;
export type Misbehaviour = (typeof MISBEHAVIOURS)[number];

/** Names fail at once, or only when the resolver gives up. */
export type DnsTrouble = 'fail' | 'hang';

export type FaultSignal = 'SIGKILL' | 'SIGSTOP';

/** What is done. */
export type FaultAction =
  | {
      readonly type: 'signal';
      readonly signal: FaultSignal;
      readonly service: ServiceName;
      readonly stage: Stage;
    }
  | { readonly type: 'leader'; readonly service: 'api' | 'notifier' }
  | { readonly type: 'maintenance' }
  | { readonly type: 'redis'; readonly what: 'kill' | 'flush' | 'full' | 'pause' }
  | { readonly type: 'postgres'; readonly what: 'restart' | 'crash' | 'terminate' | 'exhaust' | 'standby' }
  | { readonly type: 'black hole'; readonly service: ServiceName }
  | { readonly type: 'receiver'; readonly misbehaviour: Misbehaviour }
  | { readonly type: 'dns'; readonly what: DnsTrouble }
  /** One of these offsets; above 0: the clock is ahead. */
  | { readonly type: 'clock'; readonly service: ServiceName; readonly offsetsSeconds: readonly number[] }
  | { readonly type: 'rolling' };

/** Faults of one track come one after the other, those of different tracks at the same time. */
export type Track =
  | 'api'
  | 'checker kill'
  | 'checker stop'
  | 'notifier kill'
  | 'notifier stop'
  | `${ServiceName} clock`
  | 'rolling restart'
  | 'network'
  | 'redis'
  | 'postgres'
  | 'receivers'
  | 'dns';

export interface FaultKind {
  readonly name: string;
  readonly track: Track;
  /** How long it lasts, milliseconds; 0 where it is a moment. */
  readonly lastsMs: readonly [from: number, to: number];
  readonly action: FaultAction;
}

const MOMENT = [0, 0] as const;
const STOPPED = [3_000, 14_000] as const;
const CLOCK_OFF = [10_000, 16_000] as const;
/** Wrong clocks by the end of their kinds' names. */
const CLOCK_OFFSETS_SECONDS = {
  '': [60, -60],
  '-hour-ahead': [3_600],
  '-hour-behind': [-3_600],
  '-100-days-ahead': [100 * 24 * 3_600],
} as const;
/** Longer than an api may lead without its connection to Postgres. */
const BLACK_HOLE = [12_000, 20_000] as const;
const MISBEHAVING = [6_000, 12_000] as const;
/** As the shortest campaign has it, and as one that has the time for it. */
const REDIS_PAUSED = { short: [20_000, 20_000], long: [60_000, 60_000] } as const;
const LONG_MINUTES = 3;

/** Every kind of fault that a campaign of so many minutes fires at least once. */
export function faultKinds(minutes: number): readonly FaultKind[] {
  const paused = minutes >= LONG_MINUTES ? REDIS_PAUSED.long : REDIS_PAUSED.short;
  return [
    ...signalKinds(),
    kind('kill-leader-api', 'api', MOMENT, { type: 'leader', service: 'api' }),
    kind('kill-leader-notifier', 'notifier kill', MOMENT, { type: 'leader', service: 'notifier' }),
    kind('kill-notifier-maintenance', 'notifier kill', MOMENT, { type: 'maintenance' }),
    kind('redis-kill', 'redis', [1_000, 4_000], { type: 'redis', what: 'kill' }),
    kind('redis-flush', 'redis', MOMENT, { type: 'redis', what: 'flush' }),
    kind('redis-full', 'redis', [5_000, 9_000], { type: 'redis', what: 'full' }),
    kind('redis-pause', 'redis', paused, { type: 'redis', what: 'pause' }),
    kind('postgres-restart', 'postgres', [500, 3_000], { type: 'postgres', what: 'restart' }),
    kind('postgres-crash', 'postgres', [500, 2_000], { type: 'postgres', what: 'crash' }),
    kind('postgres-terminate', 'postgres', MOMENT, { type: 'postgres', what: 'terminate' }),
    kind('postgres-exhaust', 'postgres', [6_000, 12_000], { type: 'postgres', what: 'exhaust' }),
    kind('postgres-standby', 'postgres', [5_000, 10_000], { type: 'postgres', what: 'standby' }),
    ...SERVICES.map((service) =>
      kind(`blackhole-${service}`, 'network', BLACK_HOLE, { type: 'black hole', service }),
    ),
    ...MISBEHAVIOURS.map((misbehaviour) =>
      kind(`receiver-${misbehaviour}`, 'receivers', MISBEHAVING, { type: 'receiver', misbehaviour }),
    ),
    kind('dns-fail', 'dns', [6_000, 12_000], { type: 'dns', what: 'fail' }),
    kind('dns-hang', 'dns', [6_000, 12_000], { type: 'dns', what: 'hang' }),
    ...SERVICES.flatMap(clockKinds),
    kind('rolling-restart', 'rolling restart', MOMENT, { type: 'rolling' }),
  ];
}

function clockKinds(service: ServiceName): FaultKind[] {
  return Object.entries(CLOCK_OFFSETS_SECONDS).map(([suffix, offsetsSeconds]) =>
    kind(`clock-${service}${suffix}`, `${service} clock`, CLOCK_OFF, {
      type: 'clock',
      service,
      offsetsSeconds,
    }),
  );
}

function signalKinds(): FaultKind[] {
  return SERVICES.flatMap((service) =>
    STAGES[service].flatMap((stage) => [
      kind(`kill-${service}-${stage}`, service === 'api' ? 'api' : `${service} kill`, MOMENT, {
        type: 'signal',
        signal: 'SIGKILL',
        service,
        stage,
      }),
      kind(`stop-${service}-${stage}`, service === 'api' ? 'api' : `${service} stop`, STOPPED, {
        type: 'signal',
        signal: 'SIGSTOP',
        service,
        stage,
      }),
    ]),
  );
}

function kind(
  name: string,
  track: Track,
  lastsMs: readonly [number, number],
  action: FaultAction,
): FaultKind {
  return { name, track, lastsMs, action };
}
