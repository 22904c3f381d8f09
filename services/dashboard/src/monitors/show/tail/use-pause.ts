import type { Event } from '@tocsin/contracts/monitors/events';
import { useState } from 'react';
import { countNewer } from './merge-events.ts';

interface Pause {
  /** The events as they were when it was paused, else as they are. */
  readonly shown: readonly Event[];
  readonly paused: boolean;
  /** How many came since. */
  readonly newer: number;
  readonly pause: () => void;
  readonly resume: () => void;
}

/** Holds a list still while somebody reads it; what comes meanwhile is kept. */
export function usePause(events: readonly Event[]): Pause {
  const [frozen, setFrozen] = useState<readonly Event[] | null>(null);
  return {
    shown: frozen ?? events,
    paused: frozen !== null,
    newer: frozen === null ? 0 : countNewer(events, frozen),
    pause: () => setFrozen(events),
    resume: () => setFrozen(null),
  };
}
