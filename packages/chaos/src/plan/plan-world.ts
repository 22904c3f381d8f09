import { REGIONS, type Region } from './slots.ts';
import { Random } from './random.ts';

/** What a target does with a request. */
export type TargetState = 'up' | 'down' | 'hang' | 'reset';

/** From then on, milliseconds since the start of the campaign. */
interface TargetTurn {
  readonly atMs: number;
  readonly state: TargetState;
}

export interface MonitorPlan {
  /** Of the target, and the monitor's `externalId`. */
  readonly key: string;
  readonly failureThreshold: number;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly regions: readonly Region[];
  /** What is done to it during the campaign, besides checking it. `covered`: nothing but the maintenance that a fault plans. */
  readonly fate: 'kept' | 'tuned' | 'moved' | 'deleted' | 'covered';
  /** Its target is addressed by name, so that a resolver that fails counts for it. */
  readonly byName: boolean;
  readonly turns: readonly TargetTurn[];
  /** What its target does after the last fault, for good. */
  readonly finalState: 'up' | 'down';
}

export interface ChannelPlan {
  readonly key: string;
  /** By key; null: all monitors, also later ones. */
  readonly monitors: readonly string[] | null;
  /** `steady` receivers answer 200 throughout, `broken` ones 500; `moody` ones as the faults say; `toggled` ones are disabled for a while. */
  readonly kind: 'steady' | 'moody' | 'toggled' | 'broken';
}

export interface World {
  readonly monitors: readonly MonitorPlan[];
  readonly channels: readonly ChannelPlan[];
}

const MONITORS = 22;
const COVERED_MONITORS = 3;
const MOODY = ['moody-1', 'moody-2', 'moody-3'] as const;
/** A target stays as it is for so long. */
const TURN_MS = [7_000, 22_000] as const;
const FAILING = ['down', 'down', 'down', 'hang', 'reset'] as const satisfies readonly TargetState[];

/** The receivers that faults may choose from. */
export const MOODY_RECEIVERS: readonly string[] = MOODY;

/** What there is in a campaign: a pure function of its arguments. */
export function planWorld(seed: number, windowMs: number): World {
  const random = new Random(seed, 'world');
  const monitors = Array.from({ length: MONITORS }, (_, index) => planMonitor(random, index, windowMs));
  const covered = Array.from({ length: COVERED_MONITORS }, (_, index) => planCovered(index));
  const keys = monitors.map(({ key }) => key);
  const someOf = (count: number): string[] => random.shuffle(keys).slice(0, count);
  return {
    monitors: [...monitors, ...covered],
    channels: [
      { key: 'steady-all', kind: 'steady', monitors: null },
      { key: 'steady-some', kind: 'steady', monitors: someOf(6) },
      ...MOODY.map((key) => ({ key, kind: 'moody' as const, monitors: someOf(10) })),
      { key: 'toggled', kind: 'toggled', monitors: someOf(6) },
      { key: 'broken', kind: 'broken', monitors: someOf(2) },
    ],
  };
}

function planMonitor(random: Random, index: number, windowMs: number): MonitorPlan {
  const [north, south] = REGIONS;
  return {
    key: `monitor-${index}`,
    failureThreshold: random.pick([1, 1, 1, 2, 3]),
    intervalSeconds: random.chance(0.85) ? 5 : 8,
    // From half the interval on, checks of a monitor need the guard against each other.
    timeoutSeconds: random.pick([2, 2, 3]),
    regions: random.pick([[north], [north], [south], [north, south]]),
    fate: fateOf(index),
    byName: index % 5 !== 4,
    turns: planTurns(random, windowMs),
    finalState: random.pick(['up', 'down']),
  };
}

/** Its target fails only while a fault lets it fail. */
function planCovered(index: number): MonitorPlan {
  return {
    key: `covered-${index}`,
    failureThreshold: 1,
    intervalSeconds: 5,
    timeoutSeconds: 2,
    regions: [index % 2 === 0 ? REGIONS[0] : REGIONS[1]],
    fate: 'covered',
    byName: true,
    turns: [],
    finalState: 'up',
  };
}

function fateOf(index: number): MonitorPlan['fate'] {
  if (index < 3) return 'tuned';
  if (index < 5) return 'moved';
  return index < 7 ? 'deleted' : 'kept';
}

/** Up at first, then in turns. */
function planTurns(random: Random, windowMs: number): TargetTurn[] {
  const turns: TargetTurn[] = [{ atMs: 0, state: 'up' }];
  let atMs = random.integer(1_000, TURN_MS[1]);
  for (let up = false; atMs < windowMs; up = !up) {
    turns.push({ atMs, state: up ? 'up' : random.pick(FAILING) });
    atMs += random.integer(...TURN_MS);
  }
  return turns;
}
