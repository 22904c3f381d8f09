import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { z } from 'zod';

/** `latency` is that of the 95th percentile. */
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

/** Filters beyond the fields of a monitor. */
export const MONITOR_FILTERS = ['unacknowledged', 'expiring', 'unchecked'] as const;

/** A search parameter. The router parses one that looks like a number as a number. */
export const textParameter = z
  .union([z.string(), z.number().transform(String)])
  .optional()
  .catch(undefined);

/** The search parameters of the list of monitors: everything that a link or a saved view shares. Invalid ones are ignored. */
export const monitorsSearchSchema = z.object({
  q: textParameter,
  status: z.enum(MONITOR_STATUSES).optional().catch(undefined),
  region: textParameter,
  /** A label selector in kubectl's syntax. */
  selector: textParameter,
  show: z.enum(MONITOR_FILTERS).optional().catch(undefined),
  order: z.enum(MONITOR_ORDERS).optional().catch(undefined),
  /** Whether the order is reversed. */
  reverse: z.literal(true).optional().catch(undefined),
  /** The key of a label. */
  group: textParameter,
  /** Keys of `list/columns.ts`, separated by commas. Undefined: the default. */
  columns: textParameter,
});
export type MonitorsSearch = z.infer<typeof monitorsSearchSchema>;

/** What a search shows of the list, without its filters. */
export function withoutFilters({ order, reverse, group, columns }: MonitorsSearch): MonitorsSearch {
  return { order, reverse, group, columns };
}
