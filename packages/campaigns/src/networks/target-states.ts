import type { TargetState } from '@tocsin/lab/load/world-plan';
import type { NetworkMonitor, Outage } from '@tocsin/lab/oracle/record';

/** The target of a `cold` outage stays awake for this long after a failed check, so that it responds to a second probe. */
const AWAKE_FOR_SECOND_PROBE_MS = 2_500;
/** A target that sleeps now and then is awake for this many checks. Canaries accompany fewer checks after a doubtful one. */
const AWAKE_CHECKS = 15;

export class TargetStates {
  readonly #monitors: ReadonlyMap<string, NetworkMonitor>;
  readonly #clock: { readonly startedAt: number };
  /** The last time when a request woke a target, by target and client. Requests from one region do not wake the target for another. */
  readonly #wokenAt = new Map<string, number>();

  /** @param clock epoch milliseconds; every target is up until then */
  constructor(monitors: readonly NetworkMonitor[], clock: { readonly startedAt: number }) {
    this.#monitors = new Map(monitors.map((monitor) => [monitor.key, monitor]));
    this.#clock = clock;
  }

  plannedFor(key: string): Outage['kind'] | 'up' {
    const at = Date.now() - this.#clock.startedAt;
    const outages = this.#monitors.get(key)?.outages ?? [];
    return outages.find(({ from, until }) => from <= at && at < until)?.kind ?? 'up';
  }

  respond(key: string, client: string): TargetState {
    const planned = this.plannedFor(key);
    const { sleeps = false, timeoutSeconds = 0, intervalSeconds = 0 } = this.#monitors.get(key) ?? {};
    if (planned === 'cold')
      return this.#wake(key, client, timeoutSeconds * 1_000 + AWAKE_FOR_SECOND_PROBE_MS);
    if (planned === 'up' && sleeps && Date.now() >= this.#clock.startedAt)
      return this.#wake(key, client, AWAKE_CHECKS * intervalSeconds * 1_000);
    // The client may have resolved the name earlier.
    return planned === 'gone' ? 'down' : planned;
  }

  /** The request that wakes a target gets no response. */
  #wake(key: string, client: string, awakeMs: number): 'up' | 'hang' {
    const instance = `${key} ${client}`;
    if (Date.now() < (this.#wokenAt.get(instance) ?? -Infinity) + awakeMs) return 'up';
    this.#wokenAt.set(instance, Date.now());
    return 'hang';
  }
}
