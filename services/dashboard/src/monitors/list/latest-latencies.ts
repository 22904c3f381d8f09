import { LIMITS } from '@tocsin/contracts/limits';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import type { Latencies } from './arrange-monitors.ts';
import { wasAnswered } from './recent-checks.ts';

/** The latest latency of every monitor, whether on screen or not: one number each. */
export class LatestLatencies {
  readonly #known = new Map<string, number>();
  #published: Latencies = new Map();
  #isChanged = false;

  /** Takes what the live stream says. */
  add(events: readonly Event[]): void {
    for (const event of events) {
      if (event.url !== null || !wasAnswered(event)) continue;
      this.#known.set(event.monitorId, event.latency);
      this.#isChanged = true;
    }
  }

  /** Loads those of monitors of which the stream has said nothing yet. Ends at the first request that fails. */
  async load(
    monitorIds: readonly string[],
    load: (monitorIds: readonly string[]) => Promise<readonly RecentChecks[]>,
    signal: AbortSignal,
  ): Promise<void> {
    const most = LIMITS.recentChecks.monitors;
    const unknown = monitorIds.filter((id) => !this.#known.has(id));
    for (let from = 0; from < unknown.length && !signal.aborted; from += most) {
      for (const { monitorId, checks } of await load(unknown.slice(from, from + most))) {
        const latest = checks.findLast(wasAnswered);
        // A live check is later than any that is loaded.
        if (latest === undefined || this.#known.has(monitorId)) continue;
        this.#known.set(monitorId, latest.latency);
        this.#isChanged = true;
      }
    }
  }

  /** What is known now; the same object as long as nothing changes. */
  publish(): Latencies {
    if (this.#isChanged) this.#published = new Map(this.#known);
    this.#isChanged = false;
    return this.#published;
  }
}
