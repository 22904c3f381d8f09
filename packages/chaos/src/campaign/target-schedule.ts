import type { MonitorPlan, TargetState } from '../plan/world.ts';

/** The states of the targets over a campaign. */
export class TargetSchedule {
  /** When targets that do not take turns are down, by key; epoch milliseconds. */
  readonly failures = new Map<string, { readonly from: number; readonly until: number }>();
  /** From then on targets take their turns; before that all are up. */
  startedAt = Infinity;
  /** Whether each target keeps its final state. */
  isFinal = false;
  readonly #monitors: ReadonlyMap<string, MonitorPlan>;

  constructor(monitors: readonly MonitorPlan[]) {
    this.#monitors = new Map(monitors.map((monitor) => [monitor.key, monitor]));
  }

  stateOf(key: string): TargetState {
    const monitor = this.#monitors.get(key);
    if (monitor === undefined) return 'up';
    if (this.isFinal) return monitor.finalState;
    const now = Date.now();
    const failure = this.failures.get(key);
    if (failure !== undefined && now >= failure.from && now < failure.until) return 'down';
    return monitor.turns.findLast(({ atMs }) => atMs <= now - this.startedAt)?.state ?? 'up';
  }
}
