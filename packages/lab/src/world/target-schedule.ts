import type { MonitorPlan, TargetState } from '../load/world-plan.ts';

export class TargetSchedule {
  /** Times in which further targets are down, by key. Epoch milliseconds. */
  readonly failures = new Map<string, { readonly from: number; readonly until: number }>();
  /** All targets are up before this time. Epoch milliseconds. */
  startedAt = Infinity;
  isFinal = false;
  readonly #monitors: ReadonlyMap<string, MonitorPlan>;

  constructor(monitors: readonly MonitorPlan[]) {
    this.#monitors = new Map(monitors.map((monitor) => [monitor.key, monitor]));
  }

  readonly stateOf = (key: string): TargetState => {
    const monitor = this.#monitors.get(key);
    if (monitor === undefined) return 'up';
    if (this.isFinal) return monitor.finalState;
    const now = Date.now();
    const failure = this.failures.get(key);
    if (failure !== undefined && now >= failure.from && now < failure.until) return 'down';
    return monitor.turns.findLast(({ atMs }) => atMs <= now - this.startedAt)?.state ?? 'up';
  };
}
