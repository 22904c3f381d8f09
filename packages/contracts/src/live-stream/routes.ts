import { z } from 'zod';
import { STREAM_HEARTBEAT_SECONDS } from '../limits.ts';
import { eventSchema, statusChangeSchema } from '../monitors/events.ts';
import { DASHBOARD, nothing } from '../routes/route.ts';
import type { Operations } from '../routes/route.ts';

const position = z
  .string()
  .optional()
  .describe(
    'Where to go on: the last `id` that was received. Everything since ten seconds before it comes again.',
  )
  .meta({ format: 'date-time' });

/** The live stream (design §3 "Dashboard API"). */
export const streamOperations: Operations = {
  [`GET ${DASHBOARD}/stream`]: {
    id: 'openStream',
    tag: 'Live stream',
    summary: 'Follow checks and status changes',
    description: `Server-sent events, as \`EventSource\` reads them, until either side leaves:

- \`check\`: the data is an \`Event\`.
- \`status-change\`: the data is a \`StatusChange\`.
- \`reset\`: something may be missing. Load the lists again; the stream goes on.
- \`heartbeat\`: a sign of life, every ${STREAM_HEARTBEAT_SECONDS} seconds. After two that did not come the connection is dead: open another.

The \`id\` of a message is a position, not the id of what it tells. Messages of a monitor come in the order of their \`timestamp\`. A replay reaches
back five minutes.`,
    needs: 'member',
    headers: z.object({ 'Last-Event-ID': position }),
    query: z.object({
      lastEventId: position.describe('The same, where the header cannot be set.'),
    }),
    ok: 200,
    answer: 'text/event-stream',
    messages: { check: eventSchema, 'status-change': statusChangeSchema, reset: nothing, heartbeat: nothing },
    answerExample: `event: check\nid: 2026-11-20T12:00:00.123Z\ndata: {"status":"UP"}\n\n`,
  },
};
