import { Random } from '../random.ts';
import { API_WRITES, type FaultKind, type PlannedFault } from './fault.ts';
import { faultKinds } from './kinds.ts';
import { groupBy } from '../oracle/history.ts';
import { replicasOf } from './replica-plans.ts';

/** No faults are fired at the end of a campaign. */
const QUIET_MS = 35_000;
const FIRST_FAULT_MS = 4_000;
/** Faults fill this share of the time of a track. The minimum applies only if there is time to repeat faults. */
const FILLED = { min: 0.25, max: 0.75 } as const;
const REPEATING_MINUTES = 3;
/** Even a momentary fault takes this long, because its victim restarts. */
const MIN_FAULT_MS = 5_000;

/** Returns the time in which faults are fired, in milliseconds. */
export function faultWindowMs(minutes: number): number {
  return Math.max(30_000, minutes * 60_000 - QUIET_MS);
}

/**
 * Plans the faults of a campaign. Each kind is fired at least once, and longer campaigns repeat them. Pure.
 * @param receivers the ones that may misbehave
 */
export function planFaults(seed: number, minutes: number, receivers: readonly string[]): PlannedFault[] {
  return [...groupBy(faultKinds(minutes), ({ track }) => track)]
    .flatMap(([track, kinds]) => planTrack(new Random(seed, track), minutes, kinds, receivers))
    .sort((one, other) => one.atMs - other.atMs || one.name.localeCompare(other.name));
}

function planTrack(
  random: Random,
  minutes: number,
  kinds: readonly FaultKind[],
  receivers: readonly string[],
): PlannedFault[] {
  const windowMs = faultWindowMs(minutes) - FIRST_FAULT_MS;
  const choose = (kind: FaultKind): { kind: FaultKind; lastsMs: number; lengthMs: number } => {
    const lastsMs = random.integer(...kind.lastsMs);
    return { kind, lastsMs, lengthMs: Math.max(MIN_FAULT_MS, lastsMs) };
  };
  const chosen = random.shuffle(kinds).map(choose);
  const totalMs = (): number => chosen.reduce((total, { lengthMs }) => total + lengthMs, 0);
  // A repeated long fault would fill the campaign.
  const repeatable =
    minutes < REPEATING_MINUTES ? [] : kinds.filter(({ lastsMs: [, max] }) => max <= windowMs / 4);
  while (repeatable.length > 0 && totalMs() < windowMs * FILLED.min)
    chosen.push(choose(random.pick(repeatable)));
  const scale = Math.min(1, (windowMs * FILLED.max) / totalMs());
  const gaps = chosen.map(() => random.next());
  const slackMs = windowMs - totalMs() * scale;
  const gapMs = slackMs / (gaps.reduce((total, gap) => total + gap, 0) + random.next());
  const writes = random.shuffle([...API_WRITES]);
  let atMs = FIRST_FAULT_MS;
  return chosen.map(({ kind, lastsMs, lengthMs }, index) => {
    const startMs = atMs + (gaps[index] ?? 0) * gapMs;
    atMs = startMs + lengthMs * scale;
    return {
      name: kind.name,
      track: kind.track,
      atMs: Math.round(startMs),
      lastsMs: Math.round(lastsMs * scale),
      victim: victimOf(random, kind, receivers, index),
      offsetSeconds: kind.offsetsSeconds ? random.pick(kind.offsetsSeconds) : null,
      // Writes take turns, so that each campaign hits an api during different ones.
      write: kind.isDuringWrite ? (writes[index % writes.length] ?? null) : null,
    };
  });
}

function victimOf(
  random: Random,
  { victim, offsetsSeconds }: FaultKind,
  receivers: readonly string[],
  index: number,
): string | null {
  if (victim === null) return null;
  if (victim === 'receiver') return random.pick(receivers);
  const names = replicasOf(victim);
  // Replicas take turns with wrong clocks. A replica that had all of them would do no work in a whole campaign.
  return offsetsSeconds ? (names[index % names.length] ?? '') : random.pick(names);
}
