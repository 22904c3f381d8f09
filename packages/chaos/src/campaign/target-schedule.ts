import type { MonitorPlan, TargetState } from '../plan/world.ts';

/** The states of the targets over a campaign. */
export class TargetSchedule {
  readonly #monitors: ReadonlyMap<string, MonitorPlan>;
  readonly #failures = new Map<string, { readonly from: number; readonly until: number }>();
  #startedAt = Infinity;
  #isFinal = false;

  constructor(monitors: readonly MonitorPlan[]) {
    this.#monitors = new Map(monitors.map((monitor) => [monitor.key, monitor]));
  }

  /** From now on targets take their turns; before that all are up. */
  begin(): void {
    this.#startedAt = Date.now();
  }

  /** From now on each target keeps its final state. */
  finish(): void {
    this.#isFinal = true;
  }

  /** Lets a target without turns be down for a while; epoch milliseconds. */
  failBetween(key: string, from: number, until: number): void {
    this.#failures.set(key, { from, until });
  }

  failNoMore(key: string): void {
    this.#failures.delete(key);
  }

  stateOf(key: string): TargetState {
    const monitor = this.#monitors.get(key);
    if (monitor === undefined) return 'up';
    if (this.#isFinal) return monitor.finalState;
    const now = Date.now();
    const failure = this.#failures.get(key);
    if (failure !== undefined && now >= failure.from && now < failure.until) return 'down';
    return monitor.turns.findLast(({ atMs }) => atMs <= now - this.#startedAt)?.state ?? 'up';
  }
}
