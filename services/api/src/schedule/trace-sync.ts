import { withSpan, type Tracer } from '@tocsin/runtime/tracing';
import type { ScheduleApplierOptions } from './schedule-applier.ts';
import { syncSchedules, type ScheduleStores } from './sync-schedules.ts';

/**
 * Applies schedules within a span, where requests that are traced asked for it: in the trace of the first of them, with links to
 * the others.
 */
export function traceSync(tracer: Tracer | null, stores: ScheduleStores): ScheduleApplierOptions['sync'] {
  return (region, monitorIds, [parent, ...links]) => {
    if (parent === undefined) return syncSchedules(stores, region, monitorIds);
    const attributes = { 'tocsin.region': region, 'tocsin.monitors': monitorIds.length };
    return withSpan(tracer, 'schedule', { parent, links, attributes }, (span) =>
      syncSchedules(stores, region, monitorIds, span?.traceparent),
    );
  };
}
