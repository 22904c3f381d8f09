import { z } from 'zod';
import { errorReasonSchema } from './event.ts';
import { MONITOR_STATUSES } from './vocabulary.ts';

/** A monitor's step from one status to another, as the live stream says it (design §3 "Dashboard API"). */
export const statusChangeSchema = z
  .strictObject({
    id: z.uuid(),
    monitorId: z.uuid(),
    monitorName: z.string(),
    previousStatus: z.enum(MONITOR_STATUSES),
    status: z.enum(MONITOR_STATUSES),
    timestamp: z.iso.datetime({ precision: 3 }).describe('When the monitor took its new status.'),
    region: z.string().describe("Of the check that decided it, or the monitor's first where none did."),
    errorReason: errorReasonSchema
      .nullable()
      .describe(
        'Null where the status is not `DOWN`, and where a `DOWN` came back silently after maintenance.',
      ),
  })
  .meta({ id: 'StatusChange', description: "A monitor's step from one status to another." });
export type StatusChange = z.infer<typeof statusChangeSchema>;
