import type { ChannelFacts, MonitorFacts, RedeliveryFacts, WindowFacts } from '../oracle/record.ts';
import type { MonitorPlan } from '../plan/plan-world.ts';

/** A monitor of the campaign as it is now. */
export interface KnownMonitor extends Omit<MonitorFacts, 'names' | 'thresholds' | 'deletedAt'> {
  readonly names: string[];
  readonly thresholds: { at: number; value: number }[];
  deletedAt: number | null;
}

/** Maintenance as it is asked for. */
export type WindowSpan = Pick<WindowFacts, 'key' | 'monitors' | 'startsAt' | 'endsAt'>;

/** Maintenance of the campaign as it is now. */
interface KnownWindow extends Omit<WindowFacts, 'cut'> {
  cut: { from: number; until: number } | null;
}

/** What a campaign has made, and done to it. */
export class Registry {
  readonly monitors: KnownMonitor[] = [];
  readonly channels: ChannelFacts[] = [];
  /** Monitors that an api said it had made, to whoever asked it to be hit meanwhile. */
  readonly promised: { id: string; key: string }[] = [];
  readonly windows: KnownWindow[] = [];
  readonly redelivered: RedeliveryFacts[] = [];
  #made = 0;

  /** For something that the plan does not name. */
  nextKey(prefix: string): string {
    this.#made += 1;
    return `${prefix}-${this.#made}`;
  }

  /** The API knows of it from now on at the latest. */
  addWindow({ key, monitors, startsAt, endsAt }: WindowSpan): void {
    this.windows.push({ key, monitors, startsAt, endsAt, plannedAt: Date.now(), cut: null });
  }

  add(plan: MonitorPlan, created: { id: string; name: string; createdAt: string }): void {
    this.monitors.push({
      id: created.id,
      plan,
      createdAt: Date.parse(created.createdAt),
      names: [created.name],
      thresholds: [],
      deletedAt: null,
    });
  }

  /** @throws Error where there is none */
  monitor(key: string): KnownMonitor {
    const known = this.monitors.find(({ plan }) => plan.key === key);
    if (known === undefined) throw new Error(`there is no monitor ${key}`);
    return known;
  }

  /** @throws Error where there is none */
  channel(key: string): ChannelFacts {
    const known = this.channels.find(({ plan }) => plan.key === key);
    if (known === undefined) throw new Error(`there is no channel ${key}`);
    return known;
  }
}
