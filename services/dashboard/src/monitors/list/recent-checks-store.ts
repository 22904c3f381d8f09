import { LIMITS } from '@tocsin/contracts/limits';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import { mergeChecks, type RecentCheck } from './recent-checks.ts';

/** Rows that leave the screen within this time are not loaded. */
const LOAD_AFTER_MS = 60;
const RETRY_AFTER_MS = 10_000;
const REMOVE_AFTER_MS = 3 * 60_000;
const MAX_OFF_SCREEN = 500;
const NO_CHECKS: readonly RecentCheck[] = [];

interface Entry {
  /** Null until they are loaded. */
  checks: readonly RecentCheck[] | null;
  /** Live checks that arrived before the response. */
  early: readonly RecentCheck[];
  state: 'wanted' | 'loading' | 'loaded';
  /** The request whose response is awaited. A reset clears it, so that an older response is ignored. */
  request: symbol | null;
  readonly listeners: Set<() => void>;
  leftAt: number;
}

/**
 * The latest checks of the monitors on screen. They are loaded in batches and then kept up to date by the live stream. Monitors that left
 * the screen are removed later.
 */
export class RecentChecksStore {
  readonly #load: (monitorIds: readonly string[]) => Promise<readonly RecentChecks[]>;
  readonly #entries = new Map<string, Entry>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = Infinity;

  constructor(load: (monitorIds: readonly string[]) => Promise<readonly RecentChecks[]>) {
    this.#load = load;
  }

  /** The number of monitors in the store. */
  get size(): number {
    return this.#entries.size;
  }

  /** Oldest first, or null until they are loaded. It returns the same object until something changes. */
  get(monitorId: string): readonly RecentCheck[] | null {
    return this.#entries.get(monitorId)?.checks ?? null;
  }

  /** Marks a monitor as on screen. @returns a function to call when it leaves */
  watch(monitorId: string, listener: () => void): () => void {
    const entry = this.#entries.get(monitorId) ?? newEntry();
    this.#entries.set(monitorId, entry);
    entry.listeners.add(listener);
    if (entry.state === 'wanted') this.#loadIn(LOAD_AFTER_MS);
    return () => {
      entry.listeners.delete(listener);
      entry.leftAt = Date.now();
    };
  }

  /** Adds checks of the live stream. */
  add(events: readonly Event[]): void {
    const added = new Map<string, RecentCheck[]>();
    for (const { monitorId, url, timestamp, status, latency, region } of events) {
      // A check of another URL does not count for the monitor.
      if (url !== null || !this.#entries.has(monitorId)) continue;
      const checks = added.get(monitorId) ?? [];
      added.set(monitorId, checks);
      checks.push({ timestamp, status, latency, region });
    }
    for (const [monitorId, checks] of added) {
      const entry = this.#entries.get(monitorId);
      if (entry === undefined) continue;
      if (entry.state !== 'loaded') entry.early = mergeChecks(entry.early, checks);
      if (entry.checks !== null) show(entry, mergeChecks(entry.checks, checks));
    }
    this.#removeOffScreen();
  }

  /** Checks may be missing: reloads the monitors on screen and removes the others. */
  reset(): void {
    for (const [monitorId, entry] of this.#entries) {
      if (entry.listeners.size === 0) this.#entries.delete(monitorId);
      entry.state = 'wanted';
      entry.request = null;
    }
    this.#loadIn(LOAD_AFTER_MS);
  }

  /** Stops loading until a monitor is watched again. */
  close(): void {
    clearTimeout(this.#timer);
    this.#dueAt = Infinity;
  }

  #loadIn(ms: number): void {
    const dueAt = Date.now() + ms;
    if (this.#dueAt <= dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#dueAt = Infinity;
      void this.#loadWanted();
    }, ms);
  }

  async #loadWanted(): Promise<void> {
    this.#removeOffScreen();
    const wanted = [...this.#entries].filter(([, { state }]) => state === 'wanted');
    if (wanted.length === 0) return;
    const batch = wanted.slice(0, LIMITS.recentChecks.monitors);
    if (batch.length < wanted.length) this.#loadIn(LOAD_AFTER_MS);
    const request = Symbol('request');
    for (const [, entry] of batch) Object.assign(entry, { state: 'loading', request });
    const responses = await this.#request(batch.map(([monitorId]) => monitorId));
    for (const [monitorId, entry] of batch) {
      if (entry.request !== request) continue;
      entry.request = null;
      entry.state = responses === null ? 'wanted' : 'loaded';
      if (responses !== null) {
        show(entry, mergeChecks(responses.get(monitorId) ?? NO_CHECKS, entry.early));
        entry.early = NO_CHECKS;
      }
    }
    if (responses === null) this.#loadIn(RETRY_AFTER_MS);
  }

  /** @returns null if the request failed */
  async #request(monitorIds: readonly string[]): Promise<Map<string, readonly RecentCheck[]> | null> {
    try {
      const recentChecks = await this.#load(monitorIds);
      return new Map(recentChecks.map(({ monitorId, checks }) => [monitorId, checks]));
    } catch {
      return null;
    }
  }

  #removeOffScreen(): void {
    const offScreen = [...this.#entries].filter(([, { listeners }]) => listeners.size === 0);
    const oldestFirst = offScreen.sort(([, one], [, other]) => one.leftAt - other.leftAt);
    const now = Date.now();
    for (const [index, [monitorId, { leftAt, state }]] of oldestFirst.entries()) {
      const isExcess = index < oldestFirst.length - MAX_OFF_SCREEN;
      if (isExcess || state === 'wanted' || now - leftAt > REMOVE_AFTER_MS) this.#entries.delete(monitorId);
    }
  }
}

function newEntry(): Entry {
  return { checks: null, early: NO_CHECKS, state: 'wanted', request: null, listeners: new Set(), leftAt: 0 };
}

function show(entry: Entry, checks: readonly RecentCheck[]): void {
  if (entry.checks === checks) return;
  entry.checks = checks;
  for (const listener of entry.listeners) listener();
}
