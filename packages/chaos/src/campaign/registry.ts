import type { CampaignRecord, ChannelFacts, MonitorFacts, WindowFacts } from '../oracle/record.ts';
import type { MonitorPlan } from '../plan/world.ts';

type Mutable<Of> = { -readonly [Key in keyof Of]: Of[Key] };

/** A monitor as the campaign has changed it so far. */
export interface KnownMonitor extends Mutable<Omit<MonitorFacts, 'names' | 'thresholds'>> {
  readonly names: string[];
  readonly thresholds: { at: number; value: number }[];
}

/** Maintenance as it is requested. */
export type WindowSpan = Pick<WindowFacts, 'key' | 'monitors' | 'startsAt' | 'endsAt'>;

/** What a campaign has created, and changed since. */
export class Registry {
  readonly monitors: KnownMonitor[] = [];
  readonly channels: ChannelFacts[] = [];
  readonly promised: CampaignRecord['promised'][number][] = [];
  readonly windows: Mutable<WindowFacts>[] = [];
  readonly redelivered: CampaignRecord['redelivered'][number][] = [];
  #count = 0;

  /** A key that no plan has. */
  nextKey(prefix: string): string {
    this.#count += 1;
    return `${prefix}-${this.#count}`;
  }

  /** To be called when the API has accepted the window. */
  addWindow({ key, monitors, startsAt, endsAt }: WindowSpan): void {
    this.windows.push({ key, monitors, startsAt, endsAt, plannedAt: Date.now(), cut: null });
  }

  add(plan: MonitorPlan, created: { id: string; name: string; createdAt: string }): void {
    const { id, name, createdAt } = created;
    this.monitors.push({
      id,
      plan,
      createdAt: Date.parse(createdAt),
      names: [name],
      thresholds: [],
      deletedAt: null,
    });
  }

  /** @throws Error if there is none */
  monitor(key: string): KnownMonitor {
    const known = this.monitors.find(({ plan }) => plan.key === key);
    if (known === undefined) throw new Error(`unknown monitor ${key}`);
    return known;
  }

  /** @throws Error if there is none */
  channel(key: string): ChannelFacts {
    const known = this.channels.find(({ plan }) => plan.key === key);
    if (known === undefined) throw new Error(`unknown channel ${key}`);
    return known;
  }
}
