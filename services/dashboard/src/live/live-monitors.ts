import type { QueryClient } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import { digestOf } from '@tocsin/contracts/live-stream/digest';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { monitorsQuery } from '../monitors/queries.ts';
import { updateCached } from './live-query.ts';
import type { LiveBatch, LiveDigest } from './live-stream.ts';
import type { Reloader } from './reloader.ts';

/** Limits the reloads, because a large account has a large list. */
const RELOAD_AFTER_MS = 1_500;

interface LiveMonitorsOptions {
  /** Returns the stream position at which the list was last read, or undefined before it is loaded. */
  readonly position: () => string | undefined;
  /** Called after statuses that differed from a digest have been reloaded. */
  readonly onCorrected: () => void;
}

/**
 * Keeps the cached list of monitors equal to the server's. It applies records, reloads the list for unknown monitors, and compares the list
 * with digests.
 */
export class LiveMonitors {
  readonly #queryClient: QueryClient;
  readonly #reloader: Reloader;
  readonly #options: LiveMonitorsOptions;
  readonly #unsubscribe: () => void;
  /** Batches since the running fetch began. Its response may not contain them. */
  #duringFetch: LiveBatch[] = [];
  /** Unknown monitors that have caused a reload. A monitor that is still unknown was deleted. */
  readonly #reloadedFor = new Set<string>();
  #isCorrecting = false;

  constructor(queryClient: QueryClient, reloader: Reloader, options: LiveMonitorsOptions) {
    this.#queryClient = queryClient;
    this.#reloader = reloader;
    this.#options = options;
    const [key] = monitorsQuery.queryKey;
    this.#unsubscribe = queryClient.getQueryCache().subscribe((event) => {
      if (event.type !== 'updated' || event.query.queryKey[0] !== key) return;
      const { action } = event;
      if (action.type === 'fetch') this.#duringFetch = [];
      if (action.type === 'error') this.#reloadedFor.clear();
      if (action.type === 'success' && action.manual !== true) this.#onLoaded();
    });
  }

  stop(): void {
    this.#unsubscribe();
  }

  apply(batch: LiveBatch): void {
    const { queryKey } = monitorsQuery;
    if (batch.reset) this.#reloadedFor.clear();
    if (this.#queryClient.isFetching({ queryKey }) > 0) this.#duringFetch.push(batch);
    this.#update(batch);
    const list = this.#queryClient.getQueryData(queryKey);
    if (list === undefined) return;
    const unknown = new Set([...batch.checks, ...batch.statusChanges].map(({ monitorId }) => monitorId));
    for (const { id } of list) unknown.delete(id);
    for (const id of this.#reloadedFor) unknown.delete(id);
    for (const id of unknown) this.#reloadedFor.add(id);
    if (unknown.size > 0) this.#reloader.reloadAfter(RELOAD_AFTER_MS, queryKey);
  }

  /** Compares the list with the server's, unless it was read after the digest or is being loaded. */
  compare(digest: LiveDigest): void {
    const { queryKey } = monitorsQuery;
    const state = this.#queryClient.getQueryState(queryKey);
    const position = this.#options.position();
    if (state?.data === undefined || state.fetchStatus !== 'idle' || state.isInvalidated) return;
    if (position === undefined || position >= digest.position) return;
    const own = digestOf(state.data);
    const isConfigurationSame = own.configuration === digest.configuration;
    const areStatusesSame = own.statuses === digest.statuses;
    if (isConfigurationSame && areStatusesSame && own.details === digest.details) return;
    // Only statuses must not differ. The stream omits created, edited and deleted monitors and some details of outages.
    if (isConfigurationSame && !areStatusesSame) this.#isCorrecting = true;
    this.#reloader.reload({ queryKey });
  }

  #onLoaded(): void {
    for (const batch of this.#duringFetch) this.#update(batch);
    this.#duringFetch = [];
    if (!this.#isCorrecting) return;
    this.#isCorrecting = false;
    this.#options.onCorrected();
  }

  #update(batch: LiveBatch): void {
    updateCached(this.#queryClient, monitorsQuery.queryKey, (list) => updateMonitors(list, batch));
  }
}

/** Monitor fields that the live stream updates. */
type LiveFields = Pick<
  MonitorOverview,
  'id' | 'enabled' | 'status' | 'statusSince' | 'errorDetail' | 'lastCheckedAt'
> & {
  readonly failing?: MonitorOverview['failing'];
  readonly incident?: MonitorOverview['incident'];
};

/** Applies a batch to monitors. Unchanged monitors stay the same objects. */
export function updateMonitors<One extends LiveFields>(monitors: readonly One[], batch: LiveBatch): One[] {
  const checkedAt = new Map(
    // Inconclusive checks and triggered checks of another URL do not affect the monitor.
    batch.checks
      .filter(({ url, inconclusive }) => url === null && !inconclusive)
      .map(({ monitorId, timestamp }) => [monitorId, timestamp]),
  );
  const changes = new Map(batch.statusChanges.map((change) => [change.monitorId, change]));
  return monitors.map((monitor) => {
    // A trigger of a paused monitor does not affect it.
    const checked = monitor.enabled ? checkedAt.get(monitor.id) : undefined;
    const lastCheckedAt = later(checked, monitor.lastCheckedAt);
    const change = changes.get(monitor.id);
    if (lastCheckedAt === monitor.lastCheckedAt && change === undefined) return monitor;
    if (change === undefined || change.timestamp < monitor.statusSince) return { ...monitor, lastCheckedAt };
    const { status, timestamp: statusSince, errorDetail } = change;
    // A recovery ends the incident. The stream does not deliver the ID of a new incident.
    const ended = status === 'UP' && 'incident' in monitor ? { incident: null } : {};
    // The next digest corrects this guess for a monitor in maintenance.
    const failing = status === 'DOWN' || (status === 'MAINTENANCE' && monitor.failing === true);
    const fails = 'failing' in monitor ? { failing } : {};
    return { ...monitor, lastCheckedAt, status, statusSince, errorDetail, ...fails, ...ended };
  });
}

function later(one: string | undefined, other: string | null): string | null {
  return one !== undefined && (other === null || one > other) ? one : other;
}

/** Applies an incident to the list of monitors. Unchanged rows stay the same objects. */
export function updateIncident<Row extends Pick<MonitorOverview, 'id' | 'incident'>>(
  monitors: readonly Row[],
  { id, monitorId, openedAt, acknowledgedAt, acknowledgedBy, resolvedAt }: Incident,
): Row[] {
  const open = { id, openedAt, acknowledgedAt, acknowledgedBy: acknowledgedBy?.name ?? null };
  return monitors.map((monitor) => {
    if (monitor.id !== monitorId) return monitor;
    if (resolvedAt === null) return { ...monitor, incident: open };
    return monitor.incident?.id === id ? { ...monitor, incident: null } : monitor;
  });
}
