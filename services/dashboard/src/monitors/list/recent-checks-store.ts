import { LIMITS } from '@tocsin/contracts/limits';
import type { Event, RecentChecks } from '@tocsin/contracts/monitors/events';
import { mergeChecks, type RecentCheck } from './recent-checks.ts';

/** Rows that are scrolled past quickly are not asked for. */
const LOAD_AFTER_MS = 60;
const RETRY_AFTER_MS = 10_000;
const FORGET_AFTER_MS = 3 * 60_000;
const MOST_OFF_SCREEN = 500;
const NOTHING: readonly RecentCheck[] = [];

interface Entry {
  /** Null: not answered yet. */
  checks: readonly RecentCheck[] | null;
  /** Live ones that came before the answer. */
  early: readonly RecentCheck[];
  state: 'wanted' | 'loading' | 'loaded';
  /** Which request the answer is expected of. */
  request: symbol | null;
  readonly listeners: Set<() => void>;
  leftAt: number;
}

/**
 * The latest checks of the monitors on screen: loaded in batches, then kept up to date by the live stream. Those that left the
 * screen are forgotten after a while.
 */
export class RecentChecksStore {
  readonly #load: (monitorIds: readonly string[]) => Promise<readonly RecentChecks[]>;
  readonly #entries = new Map<string, Entry>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = Infinity;

  constructor(load: (monitorIds: readonly string[]) => Promise<readonly RecentChecks[]>) {
    this.#load = load;
  }

  /** How many monitors it remembers. */
  get size(): number {
    return this.#entries.size;
  }

  /** Oldest first; null: not known yet. The same object as long as nothing changes. */
  get(monitorId: string): readonly RecentCheck[] | null {
    return this.#entries.get(monitorId)?.checks ?? null;
  }

  /** Says that a monitor is on screen. @returns what says that it left */
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

  /** Takes what the live stream says. */
  add(events: readonly Event[]): void {
    const added = new Map<string, RecentCheck[]>();
    for (const { monitorId, url, timestamp, status, latency, region } of events) {
      // Test runs against another URL say nothing of the monitor.
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
    this.#forget();
  }

  /** Something may be missing: what is on screen is loaded again, the rest forgotten. */
  reset(): void {
    for (const [monitorId, entry] of this.#entries) {
      if (entry.listeners.size === 0) this.#entries.delete(monitorId);
      entry.state = 'wanted';
      entry.request = null;
    }
    this.#loadIn(LOAD_AFTER_MS);
  }

  /** Loads nothing more until something is watched again. */
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
    this.#forget();
    const wanted = [...this.#entries].filter(([, { state }]) => state === 'wanted');
    if (wanted.length === 0) return;
    const asked = wanted.slice(0, LIMITS.recentChecks.monitors);
    if (asked.length < wanted.length) this.#loadIn(LOAD_AFTER_MS);
    const request = Symbol('request');
    for (const [, entry] of asked) Object.assign(entry, { state: 'loading', request });
    const answers = await this.#ask(asked.map(([monitorId]) => monitorId));
    for (const [monitorId, entry] of asked) {
      if (entry.request !== request) continue;
      entry.request = null;
      entry.state = answers === null ? 'wanted' : 'loaded';
      if (answers !== null) {
        show(entry, mergeChecks(answers.get(monitorId) ?? NOTHING, entry.early));
        entry.early = NOTHING;
      }
    }
    if (answers === null) this.#loadIn(RETRY_AFTER_MS);
  }

  /** @returns null where no answer came */
  async #ask(monitorIds: readonly string[]): Promise<Map<string, readonly RecentCheck[]> | null> {
    try {
      const answers = await this.#load(monitorIds);
      return new Map(answers.map(({ monitorId, checks }) => [monitorId, checks]));
    } catch {
      return null;
    }
  }

  #forget(): void {
    const away = [...this.#entries].filter(([, { listeners }]) => listeners.size === 0);
    const oldestFirst = away.sort(([, one], [, other]) => one.leftAt - other.leftAt);
    const now = Date.now();
    for (const [index, [monitorId, { leftAt, state }]] of oldestFirst.entries()) {
      const isOneTooMany = index < oldestFirst.length - MOST_OFF_SCREEN;
      if (isOneTooMany || state === 'wanted' || now - leftAt > FORGET_AFTER_MS)
        this.#entries.delete(monitorId);
    }
  }
}

function newEntry(): Entry {
  return { checks: null, early: NOTHING, state: 'wanted', request: null, listeners: new Set(), leftAt: 0 };
}

function show(entry: Entry, checks: readonly RecentCheck[]): void {
  if (entry.checks === checks) return;
  entry.checks = checks;
  for (const listener of entry.listeners) listener();
}
