import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { z } from 'zod';

export const MONITOR_ORDERS = ['status', 'name', 'latency', 'newest'] as const;

/** A word that looks like a number comes as one from the address. */
const text = z
  .union([z.string(), z.number().transform(String)])
  .optional()
  .catch(undefined);

/** What the list of monitors shows, kept in the address so that it can be shared. Anything that is not right is left out. */
export const monitorsSearchSchema = z.object({
  q: text,
  status: z.enum(MONITOR_STATUSES).optional().catch(undefined),
  region: text,
  order: z.enum(MONITOR_ORDERS).optional().catch(undefined),
});
export type MonitorsSearch = z.infer<typeof monitorsSearchSchema>;
