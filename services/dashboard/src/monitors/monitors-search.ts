import { z } from 'zod';
import { SHOWN_STATUSES } from './shown-status.ts';

/** `latency` sorts by the 95th percentile. */
export const MONITOR_ORDERS = [
  'status',
  'name',
  'latency',
  'p99',
  'certificate',
  'checked',
  'newest',
] as const;
export type MonitorOrder = (typeof MONITOR_ORDERS)[number];

/** Filters that are not fields of a monitor. */
export const MONITOR_FILTERS = ['unacknowledged', 'expiring', 'unchecked'] as const;

/** A text search parameter. The router parses text that looks like a number as a number. */
export const textParameter = z
  .union([z.string(), z.number().transform(String)])
  .optional()
  .catch(undefined);

/** Search parameters of the list, which links and saved views share. Invalid values are ignored. */
export const monitorsSearchSchema = z.object({
  q: textParameter,
  status: z.enum(SHOWN_STATUSES).optional().catch(undefined),
  region: textParameter,
  /** A label selector in kubectl's syntax. */
  selector: textParameter,
  show: z.enum(MONITOR_FILTERS).optional().catch(undefined),
  order: z.enum(MONITOR_ORDERS).optional().catch(undefined),
  /** Reverses the order. */
  reverse: z.literal(true).optional().catch(undefined),
  /** The key of a label. */
  group: textParameter,
  /** Comma-separated keys of `list/columns.ts`. Undefined for the default. */
  columns: textParameter,
});
export type MonitorsSearch = z.infer<typeof monitorsSearchSchema>;

/** Keeps order, grouping and columns. */
export function withoutFilters({ order, reverse, group, columns }: MonitorsSearch): MonitorsSearch {
  return { order, reverse, group, columns };
}
