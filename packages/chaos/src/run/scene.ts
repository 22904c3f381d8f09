import type { ApiClient } from '../lab/api-client.ts';
import type { Slot } from '../lab/slot.ts';
import type { Stores } from '../lab/stores.ts';
import type { NeighbourTargets } from '../world/neighbour-targets.ts';
import type { Receivers } from '../world/receivers.ts';
import type { Targets } from '../world/targets.ts';
import type { Registry } from './registry.ts';

/** What faults are fired at, and calls are made of. */
export interface Scene {
  readonly stores: Stores;
  readonly slots: readonly Slot[];
  readonly targets: Targets;
  readonly receivers: Receivers;
  readonly neighbourTargets: NeighbourTargets;
  readonly api: ApiClient;
  readonly registry: Registry;
  /** While it is there, the names of targets and receivers do not resolve; it says how (`DnsTrouble`). */
  readonly dnsDownFile: string;
  /** Null: clocks cannot be set off here. */
  readonly libfaketime: string | null;
  /** What went wrong with services, in words. */
  readonly troubles: string[];
  /** Until when a fault may wait for its moment, epoch milliseconds. */
  readonly deadline: number;
}

/** @throws Error where there is none of that name */
export function slotNamed(scene: Scene, name: string | null): Slot {
  const slot = scene.slots.find((one) => one.name === name);
  if (slot === undefined) throw new Error(`there is no replica ${name}`);
  return slot;
}
