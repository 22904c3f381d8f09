/**
 * The rules of Kubernetes' HorizontalPodAutoscaler (autoscaling/v2, pkg/controller/podautoscaler), with the defaults of
 * kube-controller-manager. Milliseconds throughout.
 */

/** Within 10 % of the target, the number of replicas stays. */
const TOLERANCE = 0.1;
/** Periods of the controller. */
export const PERIODS = {
  sync: 15_000,
  cpuInitialization: 300_000,
  scaleUpPolicy: 15_000,
} as const;
export type Periods = Readonly<Record<keyof typeof PERIODS, number>>;

interface Clock {
  readonly now: number;
  readonly periods: Periods;
}

/** The default policies for scaling up, of which the higher limit applies. Those for scaling down allow every step. */
const MAX_ADDED_PODS = 4;
const MAX_ADDED_PERCENT = 100;

export interface Pod {
  readonly name: string;
  readonly startedAt: number;
  /** Null while it has never been ready. */
  readonly readyAt: number | null;
}

/** The CPU usage of a pod, as metrics-server reports it. */
export interface PodUsage {
  readonly cores: number;
  /** The end of the window. */
  readonly at: number;
  readonly windowMs: number;
}

/**
 * The replicas for a metric of type Resource with an AverageValue.
 * @param pods without those that are terminating
 * @returns null if no pod has a metric that counts: the number stays
 */
export function replicasForUsage(
  pods: readonly Pod[],
  usages: ReadonlyMap<string, PodUsage>,
  target: number,
  clock: Clock,
): number | null {
  const counted: number[] = [];
  let missing = 0;
  let unready = 0;
  for (const pod of pods) {
    const usage = usages.get(pod.name);
    if (usage === undefined) missing += 1;
    else if (isUnready(pod, usage, clock)) unready += 1;
    else counted.push(usage.cores);
  }
  if (counted.length === 0) return null;
  const ratio = average(counted) / target;
  const unreadyCount = ratio > 1 ? unready : 0;
  if (missing + unreadyCount === 0)
    return isTolerated(ratio) ? pods.length : Math.ceil(ratio * counted.length);
  // Pods without a metric must not make the step larger: while scaling up they count as idle, while scaling down as at the target.
  const assumed = [
    ...Array.from({ length: missing }, () => (ratio < 1 ? target : 0)),
    ...Array.from({ length: unreadyCount }, () => 0),
  ];
  const all = [...counted, ...assumed];
  const damped = average(all) / target;
  if (isTolerated(damped) || (ratio < 1 && damped > 1) || (ratio > 1 && damped < 1)) return pods.length;
  const replicas = Math.ceil(damped * all.length);
  const isReversed = damped < 1 ? replicas > pods.length : replicas < pods.length;
  return isReversed ? pods.length : replicas;
}

/** The replicas for a metric of type External with an AverageValue, which is what KEDA creates. */
export function replicasForTotal(total: number, target: number, replicas: number): number {
  return isTolerated(total / (target * replicas)) ? replicas : Math.ceil(total / target);
}

/** A young pod counts only with a whole window of CPU usage after it became ready. Pods that became ready are assumed to stay so. */
function isUnready(
  { startedAt, readyAt }: Pod,
  { at, windowMs }: PodUsage,
  { now, periods }: Clock,
): boolean {
  if (readyAt === null) return true;
  return startedAt + periods.cpuInitialization > now && at < readyAt + windowMs;
}

function isTolerated(ratio: number): boolean {
  return Math.abs(ratio - 1) <= TOLERANCE;
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export interface Limits {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** For this long, the highest recommendation counts before replicas are removed. */
  readonly scaleDownWindow: number;
}

interface At {
  readonly at: number;
  readonly replicas: number;
}

/** Turns what a metric recommends into a number of replicas: stabilization, policies, limits. */
export class Stabilizer {
  readonly #limits: Limits;
  readonly #periods: Periods;
  #recommendations: At[] = [];
  /** Replicas that were added (positive) or removed (negative). */
  #changes: At[] = [];

  constructor(limits: Limits, periods: Periods) {
    this.#limits = limits;
    this.#periods = periods;
  }

  /** @param recommended by the metric; null without a metric */
  decide(now: number, current: number, recommended: number | null): number {
    const { minReplicas, maxReplicas } = this.#limits;
    const next =
      current > maxReplicas
        ? maxReplicas
        : current < minReplicas
          ? minReplicas
          : recommended === null
            ? current
            : this.#limit(now, current, this.#stabilize(now, current, recommended));
    if (next !== current) this.#changes.push({ at: now, replicas: next - current });
    return next;
  }

  #stabilize(now: number, current: number, recommended: number): number {
    const since = now - this.#limits.scaleDownWindow;
    this.#recommendations = [
      ...this.#recommendations.filter(({ at }) => at > since),
      { at: now, replicas: recommended },
    ];
    const highest = Math.max(...this.#recommendations.map(({ replicas }) => replicas));
    return Math.max(recommended, Math.min(current, highest));
  }

  #limit(now: number, current: number, wanted: number): number {
    const { minReplicas, maxReplicas } = this.#limits;
    this.#changes = this.#changes.filter(({ at }) => at > now - this.#periods.scaleUpPolicy);
    const atStart = current - this.#changes.reduce((sum, { replicas }) => sum + replicas, 0);
    const most = Math.max(atStart + MAX_ADDED_PODS, Math.ceil(atStart * (1 + MAX_ADDED_PERCENT / 100)));
    return Math.max(minReplicas, Math.min(wanted, maxReplicas, Math.max(current, most)));
  }
}
