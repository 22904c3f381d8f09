import { z } from 'zod';
import { LIMITS } from './limits.ts';
import { CHECK_STATUSES } from './vocabulary.ts';

const { monitors: mostMonitors } = LIMITS.recentChecks;
const rule = `must be 1 to ${mostMonitors} ids of monitors, separated by commas`;

/** Query of "recent checks": an id that is given twice is answered once. */
export const recentChecksQuerySchema = z.object({
  monitorIds: z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be given once') })
    .transform((text) => [...new Set(text.toLowerCase().split(','))])
    .pipe(z.array(z.uuid({ error: rule })).max(mostMonitors, { error: rule }))
    .describe(`1 to ${mostMonitors} ids of monitors, separated by commas.`),
});

/** One bar of a monitor's latest checks. */
const recentCheckSchema = z
  .strictObject({
    timestamp: z.iso.datetime({ precision: 3 }),
    status: z.enum(CHECK_STATUSES),
    latency: z.int().min(0).describe('Whole milliseconds; 0 where no answer came.'),
    region: z.string(),
  })
  .meta({ id: 'RecentCheck' });

/** The latest checks of a monitor as the dashboard API answers them for its lists: at most 30 of the last 14 days, oldest first. */
export const recentChecksSchema = z
  .strictObject({ monitorId: z.uuid(), checks: z.array(recentCheckSchema) })
  .meta({ id: 'RecentChecks', description: 'The latest checks of a monitor, oldest first.' });
export type RecentChecks = z.infer<typeof recentChecksSchema>;
