import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import { REGIONS } from '../faults/replica-plans.ts';
import { Random } from '../random.ts';

/** A target responds with 200, 500, a redirect, a reset, or not at all. */
export type TargetState = 'up' | 'down' | 'redirect' | 'reset' | 'hang';

export interface MonitorPlan {
  /** Key of the target, and `externalId` of the monitor. */
  readonly key: string;
  readonly failureThreshold: number;
  readonly recoveryThreshold: number;
  readonly intervalSeconds: number;
  readonly retryIntervalSeconds: number | null;
  readonly timeoutSeconds: number;
  readonly regions: readonly string[];
  readonly labels: Labels;
  /** What happens to the monitor besides checks. A `covered` monitor is affected only by the maintenance that a fault plans. */
  readonly fate: 'kept' | 'tuned' | 'moved' | 'deleted' | 'covered';
  /** True if its URL has a host name, which DNS faults affect. */
  readonly byName: boolean;
  /** Changes of the target's state, in milliseconds since the start of the run. */
  readonly turns: readonly { readonly atMs: number; readonly state: TargetState }[];
  readonly finalState: 'up' | 'down';
}

export interface ChannelScope {
  readonly selector: Selector | null;
  /** Null for all events. */
  readonly events: readonly WebhookEvent[] | null;
}

export interface ChannelPlan {
  readonly key: string;
  /** Keys of the listed monitors, or null for all present and future monitors. */
  readonly monitors: readonly string[] | null;
  /** Initial scope. Defaults to no selector and all events. */
  readonly scope?: ChannelScope;
  /**
   * A `steady` receiver always responds with 200, a `broken` one with 500. Faults affect a `moody` one. A `toggled` channel is disabled
   * for a while.
   */
  readonly kind: 'steady' | 'moody' | 'toggled' | 'broken';
}

export interface World {
  readonly monitors: readonly MonitorPlan[];
  readonly channels: readonly ChannelPlan[];
}

/**
 * The target of a `redirecting` monitor redirects each check to a new name that never resolves. The target of a `silent` one never
 * responds. No key decrypts the headers of an `unreadable` one. Postgres refuses the results of a `poison` one.
 */
export type NeighborKind = 'redirecting' | 'silent' | 'unreadable' | 'poison';

/** A hostile monitor in another account, the neighbor, which must not affect any other account. */
export interface NeighborPlan {
  readonly key: string;
  readonly kind: NeighborKind;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
}

const MONITORS = 22;
const COVERED_MONITORS = 3;
/** The shortest and longest time that a target keeps its state. */
const TURN_MS = [7_000, 22_000] as const;
const FAILING = ['down', 'down', 'down', 'hang', 'reset'] as const;
/** Far more concurrent slow checks than the `CHECK_CONCURRENCY` of a campaign allows. */
const NEIGHBORS: Readonly<Record<NeighborKind, number>> = {
  redirecting: 40,
  silent: 40,
  unreadable: 10,
  poison: 3,
};

export const LABELS: readonly Labels[] = [
  { app: 'shop', tier: 'web' },
  { app: 'shop', 'example.com/team': 'one' },
  { app: 'blog' },
  { tier: '' },
];
export const SCOPES: readonly ChannelScope[] = [
  { selector: { matchLabels: { app: 'shop' } }, events: null },
  { selector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['shop'] }] }, events: null },
  {
    selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['shop', 'blog'] }] },
    events: ['monitor.down', 'monitor.up'],
  },
  { selector: { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] }, events: ['monitor.down'] },
];
/** Faults change the selector of this channel. */
export const FAULTY_CHANNEL = 'steady-faulty';

function scopeOf(index: number): ChannelScope {
  return SCOPES[index] ?? { selector: null, events: null };
}

/** Faults choose from these receivers. */
export const MOODY_RECEIVERS: readonly string[] = ['moody-1', 'moody-2', 'moody-3'];

/** Plans the monitors and channels of a fault campaign. */
export function planWorld(seed: number, windowMs: number): World {
  const random = new Random(seed, 'world');
  const monitors = Array.from({ length: MONITORS }, (_, index) => planMonitor(random, index, windowMs));
  const covered = Array.from({ length: COVERED_MONITORS }, (_, index) => ({
    ...plainMonitor(`covered-${index}`, REGIONS[index % 2] ?? REGIONS[0]),
    failureThreshold: 1,
    fate: 'covered' as const,
  }));
  const keys = monitors.map(({ key }) => key);
  const pick = (count: number): string[] => random.shuffle(keys).slice(0, count);
  return {
    monitors: [...monitors, ...covered],
    channels: [
      { key: 'steady-all', kind: 'steady', monitors: null },
      { key: 'steady-some', kind: 'steady', monitors: pick(6) },
      { key: 'selecting', kind: 'steady', monitors: [], scope: scopeOf(0) },
      { key: 'filtering', kind: 'steady', monitors: pick(3), scope: scopeOf(2) },
      { key: FAULTY_CHANNEL, kind: 'steady', monitors: [], scope: scopeOf(1) },
      ...MOODY_RECEIVERS.map((key) => ({ key, kind: 'moody' as const, monitors: pick(10) })),
      { key: 'toggled', kind: 'toggled', monitors: pick(6) },
      { key: 'broken', kind: 'broken', monitors: pick(2) },
    ],
  };
}

export function plainMonitor(key: string, region: string): MonitorPlan {
  return {
    key,
    failureThreshold: 2,
    recoveryThreshold: 1,
    intervalSeconds: 5,
    retryIntervalSeconds: null,
    timeoutSeconds: 2,
    regions: [region],
    labels: {},
    fate: 'kept',
    byName: true,
    turns: [],
    finalState: 'up',
  };
}

function planMonitor(random: Random, index: number, windowMs: number): MonitorPlan {
  const [north, south] = REGIONS;
  const isRetried = random.chance(0.3);
  return {
    key: `monitor-${index}`,
    failureThreshold: isRetried ? random.pick([2, 3]) : random.pick([1, 1, 1, 2, 3]),
    recoveryThreshold: random.pick([1, 1, 1, 2, 3]),
    // No retry interval is shorter than 5 s.
    intervalSeconds: isRetried ? random.pick([8, 12]) : 5,
    retryIntervalSeconds: isRetried ? 5 : null,
    // If the timeout is at least half the interval, checks of a monitor need the overlap guard.
    timeoutSeconds: random.pick([2, 2, 3]),
    regions: random.pick([[north], [north], [south], [north, south]]),
    labels: LABELS[index % LABELS.length] ?? {},
    fate: index < 3 ? 'tuned' : index < 5 ? 'moved' : index < 7 ? 'deleted' : 'kept',
    byName: index % 5 !== 4,
    turns: planTurns(random, windowMs),
    finalState: random.pick(['up', 'down']),
  };
}

/** The target is up at first, then fails and recovers in turns. */
function planTurns(random: Random, windowMs: number): MonitorPlan['turns'] {
  const turns: { atMs: number; state: TargetState }[] = [{ atMs: 0, state: 'up' }];
  let atMs = random.integer(1_000, TURN_MS[1]);
  for (let up = false; atMs < windowMs; up = !up) {
    turns.push({ atMs, state: up ? 'up' : random.pick(FAILING) });
    atMs += random.integer(...TURN_MS);
  }
  return turns;
}

/** Plans the neighbor's monitors. */
export function planNeighbor(seed: number): NeighborPlan[] {
  const random = new Random(seed, 'neighbor');
  return (Object.keys(NEIGHBORS) as NeighborKind[]).flatMap((kind) =>
    Array.from({ length: NEIGHBORS[kind] }, (_, index) => ({
      key: `${kind}-${index}`,
      kind,
      ...(kind === 'silent'
        ? { intervalSeconds: random.integer(30, 60), timeoutSeconds: 30 }
        : { intervalSeconds: 5, timeoutSeconds: 4 }),
    })),
  );
}

/** The share and the minimum number of monitors whose targets fail in a steady run. */
const FLAPPING = { share: 0.05, min: 10 } as const;
/** A flapping target keeps its state for this many intervals. */
const TURN_INTERVALS = { min: 1.2, max: 4 } as const;
const STEADY_INTERVAL_SECONDS = 5;

/** Plans monitors for a steady run. The first few targets fail and recover in turns, and a channel alerts for them. */
export function planSteadyWorld(seed: number, checksPerSecond: number, windowMs: number): World {
  const random = new Random(seed, 'targets');
  const count = Math.round(checksPerSecond * STEADY_INTERVAL_SECONDS);
  const flapping = Math.max(FLAPPING.min, Math.round(count * FLAPPING.share));
  const { min, max } = TURN_INTERVALS;
  const monitors = Array.from({ length: count }, (_, index): MonitorPlan => {
    const turnMs = (min + random.next() * (max - min)) * STEADY_INTERVAL_SECONDS * 1_000;
    const turns = Array.from({ length: index < flapping ? Math.ceil(windowMs / turnMs) : 0 }, (__, turn) => ({
      atMs: (turn + 1) * turnMs,
      state: turn % 2 === 0 ? ('down' as const) : ('up' as const),
    }));
    return { ...plainMonitor(`monitor-${index}`, REGIONS[0]), failureThreshold: 1, byName: false, turns };
  });
  const keys = monitors.slice(0, flapping).map(({ key }) => key);
  return { monitors, channels: [{ key: 'receiver', kind: 'steady', monitors: keys }] };
}
