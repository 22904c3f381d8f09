import type { Scene } from './scene.ts';

/** Circumstances of a fault. */
export interface Chance {
  /** Grows with each fault of a track, so that replicas, receivers and writes take turns. */
  readonly turn: number;
  readonly lastsMs: number;
  /** A fault may wait for its moment until this time, in epoch milliseconds. */
  readonly deadline: number;
}

/** @throws Error with the reason if the effect of the fault was not observed */
export type Fire = (scene: Scene, chance: Chance) => Promise<Effect>;

export interface Effect {
  readonly firedAt: number;
  /** The affected replica or receiver. Unset for stores. */
  readonly victim?: string;
}

export interface FaultKind {
  readonly name: string;
  /** Faults in the same track are fired one after the other, and different tracks at the same time. */
  readonly track: string;
  /** Range of the duration in milliseconds. */
  readonly lastsMs: readonly [from: number, to: number];
  /** Begins the fault, and ends it. */
  readonly fire: Fire;
}

export function requireEffect(isObserved: unknown, reason: string): asserts isObserved {
  if (isObserved === false || isObserved === null) throw new Error(reason);
}

/** Returns the one whose turn it is. */
export function takeTurn<Item>(items: readonly Item[], turn: number): Item {
  const item = items[turn % items.length];
  if (item === undefined) throw new RangeError('nothing takes turns');
  return item;
}
