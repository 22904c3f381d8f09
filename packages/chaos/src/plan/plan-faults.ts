import type { ServiceName } from '@tocsin/lab/service-process';
import { API_WRITES, faultKinds, type ApiWrite, type FaultKind, type Track } from './fault-kinds.ts';
import { Random } from './random.ts';
import { SLOTS, slotsOf, type SlotPlan } from './slots.ts';

/** One fault of a schedule. */
export interface PlannedFault extends Omit<FaultKind, 'lastsMs'> {
  /** Since the start of the campaign; one that has to wait for its moment, or for the fault before it, comes later. */
  readonly atMs: number;
  readonly lastsMs: number;
  /** The replica, or the receiver; null where there is only one, or where a role is hit, as the leader. */
  readonly victim: string | null;
  /** Of a clock fault: how far the clock is ahead; below 0: behind. */
  readonly offsetSeconds: number | null;
  /** Of a signal to an api: what it is doing then. */
  readonly write: ApiWrite | null;
}

/** Of a campaign this long at its end nothing breaks any more. */
const QUIET_MS = 35_000;
const FIRST_FAULT_MS = 4_000;
/** What a track is filled to at most, and at least where there is time for repetitions. */
const FILLED = { least: 0.25, most: 0.75 } as const;
const REPEATING_MINUTES = 3;
/** What a fault of no length takes all the same: its victim starts again. */
const LEAST_MS = 5_000;

/** How long faults go on in a campaign, milliseconds. */
export function faultWindowMs(minutes: number): number {
  return Math.max(30_000, minutes * 60_000 - QUIET_MS);
}

/**
 * The schedule of a campaign: a pure function of its arguments. Each kind comes at least once; longer campaigns repeat them.
 * @param receivers that may misbehave
 */
export function planFaults(seed: number, minutes: number, receivers: readonly string[]): PlannedFault[] {
  const kinds = faultKinds(minutes);
  const tracks = [...new Set(kinds.map(({ track }) => track))];
  return tracks
    .flatMap((track) => planTrack(new Random(seed, track), minutes, kindsOf(kinds, track), receivers))
    .sort((one, other) => one.atMs - other.atMs || one.name.localeCompare(other.name));
}

function kindsOf(kinds: readonly FaultKind[], track: Track): FaultKind[] {
  return kinds.filter((kind) => kind.track === track);
}

function planTrack(
  random: Random,
  minutes: number,
  kinds: readonly FaultKind[],
  receivers: readonly string[],
): PlannedFault[] {
  const windowMs = faultWindowMs(minutes) - FIRST_FAULT_MS;
  const chosen = random.shuffle(kinds).map((kind) => ({ kind, lastsMs: random.integer(...kind.lastsMs) }));
  const total = (): number => chosen.reduce((sum, { lastsMs }) => sum + Math.max(LEAST_MS, lastsMs), 0);
  // A long fault is not repeated: the campaign would consist of it.
  const repeatable =
    minutes < REPEATING_MINUTES ? [] : kinds.filter(({ lastsMs: [, most] }) => most <= windowMs / 4);
  while (repeatable.length > 0 && total() < windowMs * FILLED.least) {
    const kind = random.pick(repeatable);
    chosen.push({ kind, lastsMs: random.integer(...kind.lastsMs) });
  }
  const scale = Math.min(1, (windowMs * FILLED.most) / total());
  const lengths = chosen.map(({ lastsMs }) => Math.max(LEAST_MS, lastsMs) * scale);
  const slackMs = windowMs - lengths.reduce((sum, length) => sum + length, 0);
  const gaps = chosen.map(() => random.next());
  const gapMs = slackMs / (gaps.reduce((sum, gap) => sum + gap, 0) + random.next());
  const writes = random.shuffle([...API_WRITES]);
  const replicas = random.shuffle(SLOTS);
  let atMs = FIRST_FAULT_MS;
  return chosen.map(({ kind, lastsMs }, index) => {
    atMs += (gaps[index] ?? 0) * gapMs;
    const isAtApi = kind.action.type === 'signal' && kind.action.service === 'api';
    const planned = {
      name: kind.name,
      track: kind.track,
      action: kind.action,
      atMs: Math.round(atMs),
      lastsMs: Math.round(lastsMs * scale),
      victim: victimOf(random, kind, receivers, (service) => inTurn(replicas, service, index)),
      offsetSeconds: kind.action.type === 'clock' ? random.pick(kind.action.offsetsSeconds) : null,
      // In turns, so that each campaign hits an api over different things.
      write: isAtApi ? (writes[index % writes.length] ?? 'monitor created') : null,
    };
    atMs += lengths[index] ?? 0;
    return planned;
  });
}

function victimOf(
  random: Random,
  { action }: FaultKind,
  receivers: readonly string[],
  nextSlot: (service: ServiceName) => string,
): string | null {
  switch (action.type) {
    case 'signal':
      return pickSlot(random, action.service);
    case 'clock':
      return nextSlot(action.service);
    case 'black hole':
      // The api that leads.
      return action.service === 'api' ? null : pickSlot(random, action.service);
    case 'receiver':
      return random.pick(receivers);
    case 'leader':
    case 'maintenance':
    case 'redis':
    case 'postgres':
    case 'dns':
    case 'rolling':
      return null;
  }
}

/** Wrong clocks go round: one replica that has all of them would do no work in a whole campaign. */
function inTurn(replicas: readonly SlotPlan[], service: ServiceName, index: number): string {
  const names = replicas.filter((slot) => slot.service === service).map(({ name }) => name);
  return names[index % names.length] ?? '';
}

function pickSlot(random: Random, service: ServiceName): string {
  return random.pick(slotsOf(service)).name;
}
