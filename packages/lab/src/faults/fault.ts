import type { ServiceName } from '../service-process.ts';
import type { Scene } from './scene.ts';

/** An api is hit during these writes. */
export const API_WRITES = [
  'monitor created',
  'monitor updated',
  'monitor deleted',
  'monitor relabeled',
  'channel rescoped',
  'maintenance planned',
  'delivery redelivered',
] as const;
export type ApiWrite = (typeof API_WRITES)[number];

export interface PlannedFault {
  readonly name: string;
  readonly track: string;
  /** Milliseconds since the start of the campaign. A fault may have to wait longer for its moment, or for the previous fault. */
  readonly atMs: number;
  readonly lastsMs: number;
  /** The replica or the receiver, or null for faults of a store or of the leader. */
  readonly victim: string | null;
  /** A positive offset sets the clock ahead. */
  readonly offsetSeconds: number | null;
  /** The write during which an api is hit, or null. */
  readonly write: ApiWrite | null;
}

/** Fires a fault and waits until it is over. @returns its start @throws Error with the reason if its effect was not observed */
export type Fire = (scene: Scene, fault: PlannedFault) => Promise<number>;

export interface FaultKind {
  readonly name: string;
  /** Faults of one track are fired one after the other, and different tracks at the same time. */
  readonly track: string;
  /** The range of its duration in milliseconds. */
  readonly lastsMs: readonly [from: number, to: number];
  readonly fire: Fire;
  /** Null for a store or the leader. */
  readonly victim: ServiceName | 'receiver' | null;
  /** The possible offsets of a wrong clock. A positive offset sets it ahead. */
  readonly offsetsSeconds?: readonly number[];
  readonly isDuringWrite?: true;
  /** Waits until no other fault has acquired its replica. */
  readonly needsReplica?: true;
}

export function requireEffect(isObserved: unknown, reason: string): asserts isObserved {
  if (isObserved === false || isObserved === null) throw new Error(reason);
}
