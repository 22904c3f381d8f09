import { inOneRoundTrip } from '@tocsin/db/database/sql';
import type {
  DispatchedStatusChanges,
  DispatchScope,
  RefusedStatusChange,
} from '@tocsin/db/status-changes/dispatch-status-changes';
import type { Logger } from '@tocsin/runtime/logger';
import { SpanKind, startSpan } from '@tocsin/runtime/tracing';
import { Refusals } from './refusals.ts';

const DISPATCH_BATCH = 200;
/** Concurrent transactions during a backlog. A single one would leave the other cores of Postgres unused. */
const PARTS_OF_BACKLOG = 4;
/** Wait before a blocked dispatch is tried again. Transactions lock channels for only a few milliseconds. */
const BLOCKED_WAIT_MS = 25;

export interface DispatchingOptions {
  /** Creates deliveries for some of the due status changes. */
  readonly dispatch: (scope: DispatchScope) => Promise<DispatchedStatusChanges>;
  readonly logger: Logger;
  readonly onRefused: () => void;
  readonly onDispatched: () => void;
  readonly now?: () => number;
}

/** Delay until the next round, or null for the regular time. */
type NextRoundMs = number | null;

export interface Dispatching {
  /** Dispatches a bounded part of the backlog. */
  readonly round: () => Promise<NextRoundMs>;
  /** Permanently refused status changes. Later ones of the same monitors do not wait for them. */
  readonly refusedIds: () => string[];
}

/**
 * Creates the relay's round that turns due status changes into deliveries. A status change that Postgres refuses is retried alone, with
 * growing delays. It is never dropped, and the age of the outbox raises an alert.
 */
export function createDispatching(options: DispatchingOptions): Dispatching {
  const { dispatch, logger, onRefused, onDispatched, now = () => performance.now() } = options;
  const refusals = new Refusals<RefusedStatusChange>(now);

  async function run(scope: DispatchScope): Promise<DispatchedStatusChanges> {
    const result = await traceDispatch(scope, dispatch);
    for (const { id: statusChangeId, error } of result.refused) {
      logger.error('Postgres rejects the deliveries of a status change. Trying it again alone.', {
        statusChangeId,
        error,
      });
      onRefused();
    }
    refusals.add(result.refused);
    if (result.progressed) onDispatched();
    return result;
  }

  /** Retries a refused status change. @returns true if it was dispatched, at least in part */
  async function retryRefused(): Promise<boolean> {
    const id = refusals.next();
    if (id === null) return false;
    const result = await run({ statusChangeIds: [id] });
    // Later rounds, or another notifier, make its remaining deliveries.
    if (result.refused.length === 0) refusals.forget(id);
    return result.progressed;
  }

  let parts = 1;
  return {
    round: async () => {
      const scope = { limit: DISPATCH_BATCH, excludedIds: refusals.ids() };
      const results = await inOneRoundTrip(...Array.from({ length: parts }, () => run(scope)));
      const progressed = results.some((result) => result.progressed);
      parts = progressed ? PARTS_OF_BACKLOG : 1;
      if ((await retryRefused()) || progressed) return 0;
      return results.some(({ blocked }) => blocked) ? BLOCKED_WAIT_MS : null;
    },
    refusedIds: () => refusals.ids(({ isTemporary }) => !isTemporary),
  };
}

/** Adds a span to the trace of each status change. The traces are known only afterwards. */
async function traceDispatch(
  scope: DispatchScope,
  dispatch: DispatchingOptions['dispatch'],
): Promise<DispatchedStatusChanges> {
  const startTime = Date.now();
  const result = await dispatch(scope);
  const attributes = { 'tocsin.dispatch.status_changes': result.statusChanges };
  for (const parent of result.traceparents)
    startSpan('dispatch status change', { kind: SpanKind.CONSUMER, parent, startTime, attributes }).end();
  return result;
}
