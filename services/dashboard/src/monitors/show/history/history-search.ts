import type { StatsWindow } from '@tocsin/contracts/monitors/stats';
import { z } from 'zod';

/** Shortest first. */
export const WINDOWS = ['1h', '6h', '24h', '7d', '30d', '90d'] as const satisfies readonly StatsWindow[];

/** The period of a monitor's page. `from` and `to` together override `range`. Invalid values are ignored. */
export const historySearchSchema = z.object({
  range: z.enum(WINDOWS).optional().catch(undefined),
  from: z.iso.datetime().optional().catch(undefined),
  to: z.iso.datetime().optional().catch(undefined),
});
export type HistorySearch = z.output<typeof historySearchSchema>;
