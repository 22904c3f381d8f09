import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { z } from 'zod';

export const MONITOR_ORDERS = ['status', 'name', 'latency', 'newest'] as const;

/** A search parameter. The router parses one that looks like a number as a number. */
export const textParameter = z
  .union([z.string(), z.number().transform(String)])
  .optional()
  .catch(undefined);

/** The search parameters of the list of monitors. Invalid ones are ignored. */
export const monitorsSearchSchema = z.object({
  q: textParameter,
  status: z.enum(MONITOR_STATUSES).optional().catch(undefined),
  region: textParameter,
  /** A label selector in kubectl's syntax. */
  selector: textParameter,
  order: z.enum(MONITOR_ORDERS).optional().catch(undefined),
});
export type MonitorsSearch = z.infer<typeof monitorsSearchSchema>;
