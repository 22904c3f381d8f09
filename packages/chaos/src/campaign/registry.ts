import type { CampaignRecord, ChannelFacts, Edit, MonitorFacts, WindowFacts } from '../oracle/record.ts';
import type { MonitorPlan } from '../plan/world.ts';

/** Maintenance as it is requested. */
export type WindowSpan = Pick<WindowFacts, 'key' | 'monitors' | 'startsAt' | 'endsAt'>;

/** What a campaign has created, and changed since. */
export class Registry {
  readonly monitors: MonitorFacts[] = [];
  readonly channels: ChannelFacts[] = [];
  readonly windows: WindowFacts[] = [];
  readonly promised: CampaignRecord['promised'][number][] = [];
  readonly redelivered: CampaignRecord['redelivered'][number][] = [];
  #count = 0;

  /** A key that no plan has. */
  nextKey(prefix: string): string {
    this.#count += 1;
    return `${prefix}-${this.#count}`;
  }

  add(
    plan: MonitorPlan,
    { id, name, createdAt }: { id: string; name: string; createdAt: string },
  ): MonitorFacts {
    const stamp = Date.parse(createdAt);
    const edits = { names: [name], thresholds: [], relabeled: [] };
    const monitor: MonitorFacts = { id, plan, createdAt: stamp, ...edits, deletedAt: null };
    this.monitors.push(monitor);
    return monitor;
  }

  /** Call it when the API has accepted the window. Two responses may confirm one window. */
  addWindow(span: WindowSpan): void {
    if (this.window(span.key) === undefined) this.windows.push({ ...span, plannedAt: Date.now(), cut: null });
  }

  window(wanted: string): WindowFacts | undefined {
    return this.windows.find(({ key }) => key === wanted);
  }

  /** The monitors that only the maintenance of a fault affects. */
  get covered(): MonitorFacts[] {
    return this.monitors.filter(({ plan }) => plan.fate === 'covered');
  }

  monitor(key: string): MonitorFacts {
    return find(this.monitors, key);
  }

  channel(key: string): ChannelFacts {
    return find(this.channels, key);
  }
}

/** Notes a value before the request that writes it. @returns a function to call after the response */
export function noteEdit<Value>(edits: Edit<Value>[], value: Value): () => void {
  const edit = { from: Date.now(), until: Infinity, value };
  edits.push(edit);
  return () => void (edit.until = Date.now());
}

function find<Item extends { readonly plan: { readonly key: string } }>(
  items: readonly Item[],
  key: string,
): Item {
  const known = items.find(({ plan }) => plan.key === key);
  if (known === undefined) throw new Error(`no monitor or channel has the key ${key}`);
  return known;
}
