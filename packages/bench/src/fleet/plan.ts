import { FLAP } from './flaps.ts';
import { HANGING_PATH, pathOf } from './target-path.ts';

/*
 * What each monitor of the fleet checks, by its number. The shares are exact in every 2,000 monitors, and nothing is random, so that each
 * run has the same fleet.
 */

type Kind = 'steady' | 'hanging' | 'flapping';

/** The part of a target that depends only on the monitor's number. */
export interface FleetTarget {
  readonly kind: Kind;
  readonly protocol: 'http' | 'https';
  readonly host: string;
  readonly path: string;
  /** Null unless the target flaps. */
  readonly flapPhaseMs: number | null;
}

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

export function targetOf(number: number): FleetTarget {
  const place = number % KIND_CYCLE;
  const kind = place === 0 ? 'flapping' : place <= 2 ? 'hanging' : 'steady';
  const flapPhaseMs = kind === 'flapping' ? Math.round(spread(number / KIND_CYCLE) * FLAP.periodMs) : null;
  return {
    kind,
    protocol: Math.floor(number / KIND_CYCLE) % HTTPS_CYCLE === 0 ? 'https' : 'http',
    host: hostName(Math.floor(number / MONITORS_PER_HOST)),
    path: kind === 'hanging' ? HANGING_PATH : pathOf({ delayMs: logSpread(number, DELAY_MS), flapPhaseMs }),
    flapPhaseMs,
  };
}

export interface HostRecord {
  readonly name: string;
  readonly ttlSeconds: number;
  readonly address: string;
}

/** The address records of all hosts of a fleet. */
export function hostsOf(monitors: number): HostRecord[] {
  return Array.from({ length: Math.ceil(monitors / MONITORS_PER_HOST) }, (_, index) => ({
    name: hostName(index),
    ttlSeconds: logSpread(index, TTL_SECONDS),
    address: TARGET_ADDRESSES[index % TARGET_ADDRESSES.length] ?? '',
  }));
}

function hostName(index: number): string {
  return `s${index}.${ZONE}`;
}

/** From 0 to 1, evenly for any run of numbers: multiples of the golden ratio. */
function spread(number: number): number {
  return (number * 0.618_033_988_75) % 1;
}

/** A whole number, as often between 20 and 40 as between 400 and 800. */
function logSpread(number: number, { min, max }: { readonly min: number; readonly max: number }): number {
  return Math.round(min * (max / min) ** spread(number));
}
