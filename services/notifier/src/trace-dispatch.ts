import type { DispatchedStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import type { Tracer } from '@tocsin/runtime/tracing';

/** Fans out status changes, with a span in the trace of each that has one: who it belongs to is known only afterwards. */
export async function traceDispatch(
  tracer: Tracer | null,
  by: 'job' | 'relay',
  dispatch: () => Promise<DispatchedStatusChanges>,
): Promise<DispatchedStatusChanges> {
  if (tracer === null) return dispatch();
  const startedAt = Date.now();
  const dispatched = await dispatch();
  for (const parent of dispatched.traceparents) {
    const attributes = {
      'tocsin.dispatch.by': by,
      'tocsin.dispatch.status_changes': dispatched.statusChanges,
    };
    tracer.start('dispatch status change', { kind: 'consumer', parent, startedAt, attributes }).end();
  }
  return dispatched;
}
