import type { TargetState } from '../plan/world.ts';
import type { NetworkPlan } from './plan.ts';
import type { Outage } from './record.ts';

/** A target of a `cold` outage stays awake for this long after a failed check, so that it responds to a second probe. */
const AWAKE_FOR_SECOND_PROBE_MS = 2_500;
/** How many checks a target that sleeps now and then passes in between. Canaries accompany fewer after a doubtful one. */
const AWAKE_CHECKS = 15;

/** What the targets of a campaign do at the moment. */
export class TargetStates {
  readonly #monitors: ReadonlyMap<string, NetworkPlan['monitors'][number]>;
  readonly #clock: { readonly startedAt: number };
  /** When a request woke a target last, by target and client: no region wakes the target of another. */
  readonly #wokenAt = new Map<string, number>();

  /** @param clock epoch milliseconds; until then, every target is up */
  constructor({ monitors }: NetworkPlan, clock: { readonly startedAt: number }) {
    this.#monitors = new Map(monitors.map((monitor) => [monitor.key, monitor]));
    this.#clock = clock;
  }

  plannedFor(key: string): Outage['kind'] | 'up' {
    const at = Date.now() - this.#clock.startedAt;
    const outages = this.#monitors.get(key)?.outages ?? [];
    return outages.find(({ from, until }) => from <= at && at < until)?.kind ?? 'up';
  }

  /** How a target responds to a request of a client. */
  respond(key: string, client: string): TargetState {
    const planned = this.plannedFor(key);
    const { sleeps = false, timeoutSeconds = 0, intervalSeconds = 0 } = this.#monitors.get(key) ?? {};
    if (planned === 'cold')
      return this.#wake(key, client, timeoutSeconds * 1_000 + AWAKE_FOR_SECOND_PROBE_MS);
    if (planned === 'up' && sleeps && Date.now() >= this.#clock.startedAt)
      return this.#wake(key, client, AWAKE_CHECKS * intervalSeconds * 1_000);
    // The name may have been resolved before.
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
