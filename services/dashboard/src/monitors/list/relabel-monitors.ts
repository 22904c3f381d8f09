import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { api, ApiError, describeError, etagOf, isStatus } from '../../api/request.ts';

/** How labels change: keys to remove, then labels to set. */
export interface LabelEdit {
  readonly set: Labels;
  readonly remove: readonly string[];
}

/** The labels after an edit. Applying it again changes nothing. */
export function editLabels(labels: Labels, { set, remove }: LabelEdit): Record<string, string> {
  const kept = Object.entries(labels).filter(([key]) => !remove.includes(key));
  return { ...Object.fromEntries(kept), ...set };
}

function isEqual(one: Labels, other: Labels): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

/** The requests that it sends. */
export interface MonitorAccess {
  readonly read: (id: string) => Promise<{ readonly monitor: Monitor; readonly etag: string | null }>;
  readonly write: (id: string, labels: Record<string, string>, etag: string | null) => Promise<Monitor>;
  /** Resolves after this time, or at once if the user has stopped. */
  readonly wait: (ms: number) => Promise<void>;
}

/** Requests to the API, until the signal. */
export function monitorAccess(signal: AbortSignal): MonitorAccess {
  return {
    read: async (id) => {
      const response = await api('GET /api/dashboard/monitors/:id', { id, signal });
      return { monitor: response.monitor, etag: etagOf(response) };
    },
    // A write is not aborted: its outcome would be unknown.
    write: async (id, labels, etag) => {
      const headers = etag === null ? {} : { 'If-Match': etag };
      return (await api('PUT /api/dashboard/monitors/:id', { id, body: { labels }, headers })).monitor;
    },
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, signal.aborted ? 0 : ms);
        const stop = (): void => {
          clearTimeout(timer);
          resolve();
        };
        signal.addEventListener('abort', stop, { once: true });
      }),
  };
}

const MAX_ATTEMPTS = 10;

/**
 * Edits the labels of one monitor. If it changes meanwhile, the edit is applied to the new labels. After a 429 it waits as long as the
 * server says.
 */
async function relabel(access: MonitorAccess, id: string, edit: LabelEdit): Promise<Monitor> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { monitor, etag } = await access.read(id);
      const labels = editLabels(monitor.labels, edit);
      return isEqual(monitor.labels, labels) ? monitor : await access.write(id, labels, etag);
    } catch (error) {
      const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : null;
      if (attempt === MAX_ATTEMPTS || (!isStatus(error, 412) && retryAfterMs === null)) throw error;
      if (retryAfterMs !== null) await access.wait(retryAfterMs);
    }
  }
}

/** A monitor whose labels could not be edited. */
export interface RelabelFailure {
  readonly id: string;
  readonly message: string;
}

interface RelabelOptions {
  readonly access: MonitorAccess;
  readonly signal: AbortSignal;
  readonly onMonitor: (monitor: Monitor) => void;
  readonly onFailure: (failure: RelabelFailure) => void;
}

const CONCURRENCY = 4;

/** Edits the labels of monitors, a few at a time, until the signal. Each monitor is either edited or unchanged. */
export async function relabelMonitors(
  ids: readonly string[],
  edit: LabelEdit,
  { access, signal, onMonitor, onFailure }: RelabelOptions,
): Promise<void> {
  const queue = ids.values();
  const work = async (): Promise<void> => {
    for (const id of queue) {
      if (signal.aborted) return;
      try {
        onMonitor(await relabel(access, id, edit));
      } catch (error) {
        if (!signal.aborted) onFailure({ id, message: describeError(error) });
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}
