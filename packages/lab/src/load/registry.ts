import type { ChannelFacts, Edit, FaultRecord, MonitorFacts, WindowFacts } from '../oracle/record.ts';
import type { MonitorPlan } from './world-plan.ts';

export type WindowSpan = Pick<WindowFacts, 'key' | 'monitors' | 'startsAt' | 'endsAt'>;

/** Everything that a run has written through the API. Two responses may confirm the same write. */
export class Registry {
  readonly monitors: MonitorFacts[] = [];
  readonly channels: ChannelFacts[] = [];
  readonly windows: WindowFacts[] = [];
  readonly promised: FaultRecord['promised'][number][] = [];
  readonly redelivered: FaultRecord['redelivered'][number][] = [];
  #count = 0;

  nextKey(prefix: string): string {
    this.#count += 1;
    return `${prefix}-${this.#count}`;
  }

  add(plan: MonitorPlan, created: { id: string; name: string; createdAt: string }): void {
    if (this.monitors.some((known) => known.plan.key === plan.key)) return;
    const { id, name, createdAt } = created;
    const edits = { names: [name], thresholds: [], relabeled: [], deletedAt: null };
    this.monitors.push({ id, plan, createdAt: Date.parse(createdAt), ...edits });
  }

  addWindow(span: WindowSpan): void {
    if (this.window(span.key) === undefined) this.windows.push({ ...span, plannedAt: Date.now(), cut: null });
  }

  window(wanted: string): WindowFacts | undefined {
    return this.windows.find(({ key }) => key === wanted);
  }

  /** Monitors that only the maintenance of a fault affects. */
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

/** Records a value before the request that writes it. @returns a function to call after the response */
export function noteEdit<Value>(edits: Edit<Value>[], value: Value): () => void {
  const edit = { from: Date.now(), until: Infinity, value };
  edits.push(edit);
  return () => void (edit.until = Math.min(edit.until, Date.now()));
}

function find<Item extends { readonly plan: { readonly key: string } }>(
  items: readonly Item[],
  key: string,
): Item {
  const known = items.find(({ plan }) => plan.key === key);
  if (known === undefined) throw new Error(`no monitor or channel has the key ${key}`);
  return known;
}
