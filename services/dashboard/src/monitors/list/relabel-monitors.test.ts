import { describe, expect, test } from '@jest/globals';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { ApiError } from '../../api/request.ts';
import { monitorWith } from '../testing/records.ts';
import { editLabels, type MonitorAccess, type RelabelFailure, relabelMonitors } from './relabel-monitors.ts';

const EDIT = { set: { team: 'a' }, remove: ['old'] };

function problem(status: number, retryAfterMs: number | null = null): ApiError {
  return new ApiError({ status, title: '', detail: `status ${status}` }, retryAfterMs);
}

/** Monitors in memory, whose version changes with each write. */
class Store implements MonitorAccess {
  readonly labels: Map<string, Labels>;
  readonly versions = new Map<string, number>();
  readonly waits: number[] = [];
  writes = 0;
  mostAtOnce = 0;
  /** Called before each write. */
  beforeWrite: (id: string) => void = () => undefined;
  #running = 0;

  constructor(labels: Readonly<Record<string, Labels>>) {
    this.labels = new Map(Object.entries(labels));
  }

  readonly read = async (id: string): Promise<{ monitor: Monitor; etag: string }> => {
    this.#running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#running);
    await Promise.resolve();
    this.#running -= 1;
    const labels = this.labels.get(id);
    if (labels === undefined) throw problem(404);
    return { monitor: { ...monitorWith({ labels: { ...labels } }), id }, etag: this.#etag(id) };
  };

  readonly write = async (
    id: string,
    labels: Record<string, string>,
    etag: string | null,
  ): Promise<Monitor> => {
    this.beforeWrite(id);
    if (etag !== this.#etag(id)) throw problem(412);
    this.writes += 1;
    this.change(id, labels);
    return { ...monitorWith({ labels }), id };
  };

  readonly wait = async (ms: number): Promise<void> => void this.waits.push(ms);

  change(id: string, labels: Labels): void {
    this.labels.set(id, labels);
    this.versions.set(id, (this.versions.get(id) ?? 0) + 1);
  }

  #etag(id: string): string {
    return `"${this.versions.get(id) ?? 0}"`;
  }
}

async function run(
  store: Store,
  controller = new AbortController(),
): Promise<{ readonly edited: string[]; readonly failures: RelabelFailure[] }> {
  const edited: string[] = [];
  const failures: RelabelFailure[] = [];
  await relabelMonitors([...store.labels.keys()], EDIT, {
    access: store,
    signal: controller.signal,
    onMonitor: ({ id }) => edited.push(id),
    onFailure: (failure) => failures.push(failure),
  });
  return { edited, failures };
}

test('editLabels removes keys, sets labels, and changes nothing the second time', () => {
  const once = editLabels({ old: '1', team: 'b', app: 'shop' }, EDIT);
  expect(once).toEqual({ team: 'a', app: 'shop' });
  expect(editLabels(once, EDIT)).toEqual(once);
});

describe('relabelMonitors', () => {
  test('edits each monitor, a few at a time, and writes only those that change', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `m${index}`);
    const store = new Store(Object.fromEntries(ids.map((id) => [id, { old: 'x' }])));
    store.labels.set('same', { team: 'a' });
    const { edited, failures } = await run(store);
    expect(edited.toSorted()).toEqual([...ids, 'same'].toSorted());
    expect(failures).toEqual([]);
    expect(store.writes).toBe(30);
    expect(store.mostAtOnce).toBeGreaterThan(1);
    expect(store.mostAtOnce).toBeLessThanOrEqual(4);
    expect([...store.labels.values()]).toEqual(Array.from({ length: 31 }, () => ({ team: 'a' })));
  });

  test('merges with a change that happens meanwhile', async () => {
    const store = new Store({ m: { old: 'x' } });
    let changes = 0;
    store.beforeWrite = (id) => {
      changes += 1;
      if (changes <= 2) store.change(id, { old: 'x', [`other${changes}`]: '1' });
    };
    expect(await run(store)).toEqual({ edited: ['m'], failures: [] });
    expect(store.labels.get('m')).toEqual({ other2: '1', team: 'a' });
  });

  test('does not try forever', async () => {
    const store = new Store({ m: {} });
    store.beforeWrite = (id) => store.change(id, {});
    expect(await run(store)).toEqual({ edited: [], failures: [{ id: 'm', message: 'status 412' }] });
  });

  test('waits as long as the server says', async () => {
    const store = new Store({ m: {} });
    store.beforeWrite = () => {
      if (store.waits.length < 2) throw problem(429, 7_000);
    };
    expect(await run(store)).toEqual({ edited: ['m'], failures: [] });
    expect(store.waits).toEqual([7_000, 7_000]);
  });

  test('an error of one monitor does not stop the others', async () => {
    const store = new Store({ a: {}, b: {}, c: {}, d: {}, e: {}, f: {} });
    store.beforeWrite = (id) => {
      if (id === 'b') throw problem(403);
    };
    const { edited, failures } = await run(store);
    expect(edited.toSorted()).toEqual(['a', 'c', 'd', 'e', 'f']);
    expect(failures).toEqual([{ id: 'b', message: 'status 403' }]);
  });

  test('begins no further monitor after the signal', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `m${index}`);
    const store = new Store(Object.fromEntries(ids.map((id) => [id, {}])));
    const controller = new AbortController();
    store.beforeWrite = () => controller.abort();
    const { edited, failures } = await run(store, controller);
    expect(edited.length).toBe(store.writes);
    expect(edited.length).toBeLessThanOrEqual(4);
    expect(failures).toEqual([]);
  });
});
