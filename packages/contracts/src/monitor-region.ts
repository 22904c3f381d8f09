import { z } from 'zod';
import { CHECK_STATUSES } from './vocabulary.ts';

const timestamp = z.iso.datetime({ precision: 3 });

/** What a region last said of a monitor, as the dashboard API answers it (design §3 "Dashboard API", §4 "Region"). */
export const monitorRegionSchema = z
  .strictObject({
    region: z.string(),
    status: z
      .enum(CHECK_STATUSES)
      .nullable()
      .describe(
        'Of the last check; null, as `lastCheckedAt`, until one counts: since the region was assigned, what is checked was changed, or every region had been silent.',
      ),
    failing: z.boolean().describe("Whether its consecutive failures have reached the monitor's threshold."),
    consecutiveFailures: z.int().min(0),
    lastCheckedAt: timestamp.nullable(),
    hasSay: z
      .boolean()
      .describe("Whether it counts now for the monitor's status: what it said is not stale."),
    certificateExpiresAt: timestamp
      .nullable()
      .describe(
        'The end of the certificate that it last saw; null for http, or where no TLS connection has come about.',
      ),
  })
  .meta({ id: 'MonitorRegion', description: 'What a region last said of a monitor.' });
export type MonitorRegion = z.infer<typeof monitorRegionSchema>;
