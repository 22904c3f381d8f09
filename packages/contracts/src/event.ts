import { z } from 'zod';
import { CHECK_SOURCES, CHECK_STATUSES } from './vocabulary.ts';

const milliseconds = z.int().min(0);

/** Phases of one exchange in whole milliseconds; null where a phase did not take place. */
const timingsSchema = z
  .strictObject({
    dns: milliseconds.nullable().describe('Looking up the name.'),
    tcp: milliseconds.nullable().describe('Connecting.'),
    tls: milliseconds.nullable().describe('The TLS handshake.'),
    firstByte: milliseconds.nullable().describe('From the request to the first byte of the answer.'),
    download: milliseconds.nullable().describe('From there to the end of what was read.'),
  })
  .meta({
    id: 'Timings',
    description: 'Phases of one check in whole milliseconds; null where a phase did not take place.',
  });
export type Timings = z.infer<typeof timingsSchema>;

/** `TIMEOUT`, `DNS_ERROR`, `CONNECTION_REFUSED`, `HTTP_<code>` or `UNKNOWN_ERROR`. */
export const errorReasonSchema = z
  .string()
  .regex(/^(TIMEOUT|DNS_ERROR|CONNECTION_REFUSED|UNKNOWN_ERROR|HTTP_[1-9]\d{2})$/)
  .meta({
    id: 'ErrorReason',
    description: '`TIMEOUT`, `DNS_ERROR`, `CONNECTION_REFUSED`, `HTTP_<status code>` or `UNKNOWN_ERROR`.',
  });

/** The recorded result of one check (specification "Monitor event", design §3). */
export const eventSchema = z
  .strictObject({
    id: z.uuid(),
    monitorId: z.uuid(),
    monitorName: z.string().describe('As it is called now.'),
    status: z.enum(CHECK_STATUSES).describe('Whether the check passed.'),
    latency: milliseconds.describe('Whole milliseconds; 0 where no answer began.'),
    statusCode: z.int().nullable().describe('HTTP status of the answer; null without one.'),
    errorReason: errorReasonSchema.nullable().describe('Why the check failed; null where it passed.'),
    errorDetail: z.string().nullable().describe('Says more about `errorReason`, for people.'),
    region: z.string().describe('Code of the region that checked.'),
    timestamp: z.iso
      .datetime({ precision: 3 })
      .describe(
        'When it was recorded: strictly increasing for a monitor. Pass the last one as `since` to tail.',
      ),
    source: z.enum(CHECK_SOURCES).describe('Whether it was planned or triggered.'),
    url: z.string().nullable().describe("Only where a trigger gave a URL in place of the monitor's."),
    timings: timingsSchema,
    runbookUrl: z.string().nullable().describe('Of the monitor, now.'),
  })
  .meta({ id: 'Event', description: 'The recorded result of one check.' });
export type Event = z.infer<typeof eventSchema>;
