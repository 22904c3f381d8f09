import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import { Random } from '@tocsin/lab/random';
import { REGIONS } from './replicas.ts';

/** How a target responds: with 200, 500, a redirect, a reset, or not at all. */
export type TargetState = 'up' | 'down' | 'redirect' | 'reset' | 'hang';

export interface MonitorPlan {
  /** The key of the target, and the monitor's `externalId`. */
  readonly key: string;
  readonly failureThreshold: number;
  readonly recoveryThreshold: number;
  readonly intervalSeconds: number;
  /** Null: none. */
  readonly retryIntervalSeconds: number | null;
  readonly timeoutSeconds: number;
  readonly regions: readonly string[];
  readonly labels: Labels;
  /** What happens to it besides checks. `covered`: only the maintenance that a fault plans. */
  readonly fate: 'kept' | 'tuned' | 'moved' | 'deleted' | 'covered';
  /** Whether its URL has a name instead of an address, so that DNS faults affect it. */
  readonly byName: boolean;
  /** States of its target, from milliseconds since the start of the campaign on. */
  readonly turns: readonly { readonly atMs: number; readonly state: TargetState }[];
  /** The state of its target after the last fault. */
  readonly finalState: 'up' | 'down';
}

/** What a channel receives besides its listed monitors. */
export interface ChannelScope {
  readonly selector: Selector | null;
  /** Null: all. */
  readonly events: readonly WebhookEvent[] | null;
}

export interface ChannelPlan {
  readonly key: string;
  /** By key; null: all monitors, also later ones. */
  readonly monitors: readonly string[] | null;
  /** At first. Absent: no selector, and all events. */
  readonly scope?: ChannelScope;
  /**
   * `steady` receivers always respond with 200, `broken` ones with 500. Faults affect `moody` ones. The channels of `toggled` ones are
   * disabled for a while.
   */
  readonly kind: 'steady' | 'moody' | 'toggled' | 'broken';
}

export interface World {
  readonly monitors: readonly MonitorPlan[];
  readonly channels: readonly ChannelPlan[];
}

/**
 * What is hostile about a monitor of the neighbor. `redirecting`: its target redirects each check to a new name that never resolves.
 * `silent`: its target accepts connections and never responds. `unreadable`: no key opens its headers. `poison`: Postgres refuses
 * its results.
 */
export type NeighborKind = 'redirecting' | 'silent' | 'unreadable' | 'poison';

/** A monitor of another account, which must not affect any other. */
export interface NeighborPlan {
  /** The key of the target, and the monitor's `externalId`. */
  readonly key: string;
  readonly kind: NeighborKind;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
}

const MONITORS = 22;
const COVERED_MONITORS = 3;
/** A target keeps its state for between these times, in milliseconds. */
const TURN_MS = [7_000, 22_000] as const;
const FAILING = ['down', 'down', 'down', 'hang', 'reset'] as const;
/** Far more slow checks at a time than the `CHECK_CONCURRENCY` of a campaign. */
const NEIGHBORS: Readonly<Record<NeighborKind, number>> = {
  redirecting: 40,
  silent: 40,
  unreadable: 10,
  poison: 3,
};

/** The labels that monitors change between. */
export const LABELS: readonly Labels[] = [
  { app: 'shop', tier: 'web' },
  { app: 'shop', 'example.com/team': 'one' },
  { app: 'blog' },
  { tier: '' },
];
/** What channels change between. */
export const SCOPES: readonly ChannelScope[] = [
  { selector: { matchLabels: { app: 'shop' } }, events: null },
  { selector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['shop'] }] }, events: null },
  {
    selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['shop', 'blog'] }] },
    events: ['monitor.down', 'monitor.up'],
  },
  { selector: { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] }, events: ['monitor.down'] },
];
/** The channel whose selector faults change. */
export const FAULTY_CHANNEL = 'steady-faulty';

/** One of `SCOPES`. */
function scopeOf(index: number): ChannelScope {
  return SCOPES[index] ?? { selector: null, events: null };
}

/** The receivers that faults may choose from. */
export const MOODY_RECEIVERS: readonly string[] = ['moody-1', 'moody-2', 'moody-3'];

/** The monitors and channels of a campaign: a pure function of its arguments. */
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

/** A monitor whose target is up. */
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
    // From half the interval on, checks of a monitor need the overlap guard.
    timeoutSeconds: random.pick([2, 2, 3]),
    regions: random.pick([[north], [north], [south], [north, south]]),
    labels: LABELS[index % LABELS.length] ?? {},
    fate: index < 3 ? 'tuned' : index < 5 ? 'moved' : index < 7 ? 'deleted' : 'kept',
    byName: index % 5 !== 4,
    turns: planTurns(random, windowMs),
    finalState: random.pick(['up', 'down']),
  };
}

/** Up at first, then alternately failing and up. */
function planTurns(random: Random, windowMs: number): MonitorPlan['turns'] {
  const turns: { atMs: number; state: TargetState }[] = [{ atMs: 0, state: 'up' }];
  let atMs = random.integer(1_000, TURN_MS[1]);
  for (let up = false; atMs < windowMs; up = !up) {
    turns.push({ atMs, state: up ? 'up' : random.pick(FAILING) });
    atMs += random.integer(...TURN_MS);
  }
  return turns;
}

/** The monitors of the neighbor: a pure function of the seed. */
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
