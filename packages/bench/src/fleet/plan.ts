import type { Span } from '@tocsin/lab/slots';

/*
 * The target of each monitor of the fleet, by the monitor's number. The shares are exact in every 2,000 monitors, and nothing is random, so
 * that each run has the same fleet.
 */

/** A flapping target is down for this long in each period. */
export const FLAP = { periodMs: 600_000, downMs: 180_000 } as const;
export const ZONE = 'fleet.test';
/** Several monitors check each host, as in most services. */
const MONITORS_PER_HOST = 12;
/** Of 200 monitors, one flaps and two hang. */
const KIND_CYCLE = 200;
/** Every tenth group of 200 uses https. */
const HTTPS_CYCLE = 10;
const DELAY_MS = { min: 20, max: 800 };
const TTL_SECONDS = { min: 30, max: 300 };
/** Loopback addresses of the targets. */
export const TARGET_ADDRESSES = Array.from({ length: 8 }, (_, index) => `127.80.0.${index + 1}`);
/** The path of a target that never responds. */
export const HANGING_PATH = '/h/';

export interface FleetTarget {
  readonly kind: 'steady' | 'hanging' | 'flapping';
  readonly protocol: 'http' | 'https';
  readonly host: string;
  readonly path: string;
  /** Start of the periods of a flapping target, or null. */
  readonly flapPhaseMs: number | null;
}

export function targetOf(number: number): FleetTarget {
  const place = number % KIND_CYCLE;
  const kind = place === 0 ? 'flapping' : place <= 2 ? 'hanging' : 'steady';
  const flapPhaseMs = kind === 'flapping' ? Math.round(spread(number / KIND_CYCLE) * FLAP.periodMs) : null;
  const path = `/d/${logSpread(number, DELAY_MS)}${flapPhaseMs === null ? '' : `/${flapPhaseMs}`}`;
  return {
    kind,
    protocol: Math.floor(number / KIND_CYCLE) % HTTPS_CYCLE === 0 ? 'https' : 'http',
    host: hostName(Math.floor(number / MONITORS_PER_HOST)),
    path: kind === 'hanging' ? HANGING_PATH : path,
    flapPhaseMs,
  };
}

/** Returns the behavior that the head of a request asks for, or null for an unknown path. */
export function behaviorOf(head: string): { delayMs: number; flapPhaseMs: number | null } | null {
  const [, delay, phase] = /^GET \/d\/(\d+)(?:\/(\d+))? /.exec(head) ?? [];
  if (delay === undefined) return null;
  return { delayMs: Number(delay), flapPhaseMs: phase === undefined ? null : Number(phase) };
}

/** Returns the address records of all hosts of a fleet. */
export function hostsOf(
  monitors: number,
): { readonly name: string; readonly ttlSeconds: number; readonly address: string }[] {
  return Array.from({ length: Math.ceil(monitors / MONITORS_PER_HOST) }, (_, index) => ({
    name: hostName(index),
    ttlSeconds: logSpread(index, TTL_SECONDS),
    address: TARGET_ADDRESSES[index % TARGET_ADDRESSES.length] ?? '',
  }));
}

function hostName(index: number): string {
  return `s${index}.${ZONE}`;
}

/** Spreads numbers evenly from 0 to 1, by multiples of the golden ratio. */
function spread(number: number): number {
  return (number * 0.618_033_988_75) % 1;
}

/** Spreads numbers over a range so that 20 to 40 is as frequent as 400 to 800. */
function logSpread(number: number, { min, max }: { readonly min: number; readonly max: number }): number {
  return Math.round(min * (max / min) ** spread(number));
}

/** Returns whether a flapping target is down. Depends only on the clock, so that every status change can be predicted. */
export function isDown(phaseMs: number, now: number): boolean {
  return sincePeriodStart(phaseMs, now) < FLAP.downMs;
}

/** A status change of a target, in epoch milliseconds. */
interface Transition {
  readonly at: number;
  readonly status: 'DOWN' | 'UP';
}

/** Returns all transitions of a flapping target within a span, in order. */
export function transitionsOf(phaseMs: number, { from, to }: Span): Transition[] {
  const transitions: Transition[] = [];
  for (let start = from - sincePeriodStart(phaseMs, from); start < to; start += FLAP.periodMs)
    transitions.push({ at: start, status: 'DOWN' }, { at: start + FLAP.downMs, status: 'UP' });
  return transitions.filter(({ at }) => at >= from && at < to);
}

function sincePeriodStart(phaseMs: number, now: number): number {
  return (((now - phaseMs) % FLAP.periodMs) + FLAP.periodMs) % FLAP.periodMs;
}
