import { withSpan, type Tracer } from '@tocsin/runtime/tracing';
import type { ScheduleApplierOptions } from './schedule-applier.ts';
import { syncSchedules, type ScheduleStores } from './sync-schedules.ts';

/** A span has no more links. */
const MOST_LINKS = 128;

/**
 * Applies schedules within a span, where requests that are traced asked for it: in the trace of the first of them, with links to
 * the others. First checks are in the trace of the request that asked for their monitor.
 */
export function traceSync(tracer: Tracer | null, stores: ScheduleStores): ScheduleApplierOptions['sync'] {
  return (region, touched) => {
    const requests = new Set([...touched.values()].filter((traceparent) => traceparent !== undefined));
    const [parent, ...others] = requests;
    const monitorIds = [...touched.keys()];
    if (parent === undefined) return syncSchedules(stores, region, monitorIds);
    const links = others.slice(0, MOST_LINKS);
    const attributes = { 'tocsin.region': region, 'tocsin.monitors': touched.size };
    return withSpan(tracer, 'schedule', { parent, links, attributes }, (span) => {
      // Those of the request whose trace this is go on from this span.
      const own = (traceparent: string | undefined): string | undefined =>
        traceparent === parent ? (span?.traceparent ?? parent) : traceparent;
      const traceparents = new Map([...touched].map(([id, told]) => [id, own(told)]));
      return syncSchedules(stores, region, monitorIds, traceparents);
    });
  };
}
