import type { LateRegions } from '@tocsin/db/regions/late-regions';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { Reading } from '@tocsin/runtime/metrics';

/** Shows a late region within 30 s of the first check without a result. */
const EVERY_MS = 2_000;
/** A read that takes five seconds longer has waited for Postgres. */
const MAX_GAP_MS = EVERY_MS + 5_000;
/** After an outage of Postgres, checkers need some seconds to record what waited. Until then, every region looks late. */
const SETTLE_MS = 10_000;

export interface LateReading extends Pick<Loop, 'stop'> {
  /** The last reading. Null during an outage of Postgres and until ten seconds without a gap have followed. */
  readonly latest: Reading<LateRegions>;
}

/** Reads the late regions all the time, because an outage between two reads would make every region look late. */
export function startLateReading(read: () => Promise<LateRegions>, logger: Logger): LateReading {
  let last: { readonly late: LateRegions; readonly at: number } | null = null;
  /** First reading without a gap. */
  let availableSince = 0;
  const isCurrent = (now: number): boolean => last !== null && now - last.at < MAX_GAP_MS;

  async function readNow(): Promise<void> {
    try {
      const late = await read();
      const at = performance.now();
      if (!isCurrent(at)) availableSince = at;
      last = { late, at };
    } catch (error) {
      last = null;
      logger.debug('Could not read the late regions', { error });
    }
  }

  const loop = createLoop({ name: 'Reading late regions', work: readNow, everyMs: EVERY_MS, logger });
  return {
    stop: () => loop.stop(),
    latest: async () =>
      last !== null && isCurrent(performance.now()) && last.at - availableSince >= SETTLE_MS
        ? last.late
        : null,
  };
}
