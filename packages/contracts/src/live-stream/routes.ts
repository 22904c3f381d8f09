import { z } from 'zod';
import { incidentSchema } from '../incidents/incident.ts';
import { STREAM_HEARTBEAT_SECONDS } from '../limits.ts';
import { eventSchema, statusChangeSchema } from '../monitors/events.ts';
import { digestSchema } from './digest.ts';
import { defineRoutes, noFields } from '../routes/route.ts';

const position = z
  .string({ error: 'must be the id of a message of this stream' })
  .optional()
  .describe('The last `id` received. Everything since ten seconds before it is sent again.')
  .meta({ format: 'date-time' });

const common = { tag: 'Live stream', access: 'member' } as const;

export const streamRoutes = defineRoutes(common, {
  openStream: {
    endpoint: 'GET /api/dashboard/stream',
    summary: 'Follow checks and status changes',
    description: `Server-sent events, as \`EventSource\` reads them:

- \`check\`: the data is an \`Event\`.
- \`status-change\`: the data is a \`StatusChange\`.
- \`incident\`: an incident was acknowledged, or its notes changed. The data is an \`Incident\`. It has no \`id\`.
- \`regions\`: the checks of a region have become late, or are in time again. Reload the regions. It has no \`id\`.
- \`reset\`: something may be missing. Reload the lists; the stream continues.
- \`digest\`: about every 30 seconds, the data is a \`Digest\` of the account at this point of the stream.
- \`heartbeat\`: sent every ${STREAM_HEARTBEAT_SECONDS} seconds. After two missed heartbeats the connection is dead: open another.

The \`id\` of a message is a position, not the id of a record. Messages of a monitor come in the order of their \`timestamp\`. A replay reaches back five minutes.`,
    // Some code generators have no headers with timestamps.
    headers: z.object({ 'Last-Event-ID': position.meta({ format: undefined }) }),
    query: z.object({
      lastEventId: position.describe('The same, for clients that cannot set the header.'),
    }),
    response: 'text/event-stream',
    messages: {
      check: eventSchema,
      'status-change': statusChangeSchema,
      incident: incidentSchema,
      digest: digestSchema,
      regions: noFields,
      reset: noFields,
      heartbeat: noFields,
    },
    responseExample: `event: check\nid: 2026-11-20T12:00:00.123Z\ndata: {"status":"UP"}\n\n`,
  },
});
