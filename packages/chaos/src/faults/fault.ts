import type { ServiceName } from '@tocsin/lab/service-process';
import type { Scene } from '../campaign/scene.ts';

/** The writes during which an api is hit. */
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

/** One fault of a schedule. */
export interface PlannedFault {
  /** The name of its kind. */
  readonly name: string;
  readonly track: string;
  /** Milliseconds since the start of the campaign; a fault that waits for its moment, or for the one before it, comes later. */
  readonly atMs: number;
  readonly lastsMs: number;
  /** The replica or the receiver; null for faults of a store, or of the leader. */
  readonly victim: string | null;
  /** How far a clock is ahead; below 0: behind. */
  readonly offsetSeconds: number | null;
  /** The write during which an api is hit; null for other faults. */
  readonly write: ApiWrite | null;
}

/** Fires a fault and waits until it is over. @returns when it began @throws Error with the reason if it was not observed */
export type Fire = (scene: Scene, fault: PlannedFault) => Promise<number>;

export interface FaultKind {
  readonly name: string;
  /** Faults of one track are fired one after the other, those of different tracks at the same time. */
  readonly track: string;
  /** How long it lasts, in milliseconds; 0 for a moment. */
  readonly lastsMs: readonly [from: number, to: number];
  readonly fire: Fire;
  /** What it hits; null for a store, or for the leader. */
  readonly victim: ServiceName | 'receiver' | null;
  /** For a wrong clock: the possible offsets. Above 0 is ahead. */
  readonly offsetsSeconds?: readonly number[];
  readonly isDuringWrite?: true;
  /** Waits until no other fault has acquired its replica. */
  readonly needsReplica?: true;
}

/** @throws Error with this reason if the effect of a fault was not observed */
export function requireEffect(isObserved: unknown, reason: string): asserts isObserved {
  if (isObserved === false || isObserved === null) throw new Error(reason);
}
