import { z } from 'zod';
import { CHECK_SOURCES, CHECK_STATUSES } from './vocabulary.ts';

const milliseconds = z.int().min(0);

/** Phases of one exchange in whole milliseconds; null where a phase did not take place. */
const timingsSchema = z
  .strictObject({
    dns: milliseconds.nullable(),
    tcp: milliseconds.nullable(),
    tls: milliseconds.nullable(),
    firstByte: milliseconds.nullable(),
    download: milliseconds.nullable(),
  })
  .meta({ id: 'Timings' });
export type Timings = z.infer<typeof timingsSchema>;

/** `TIMEOUT`, `DNS_ERROR`, `CONNECTION_REFUSED`, `HTTP_<code>` or `UNKNOWN_ERROR`. */
export const errorReasonSchema = z
  .string()
  .regex(/^(TIMEOUT|DNS_ERROR|CONNECTION_REFUSED|UNKNOWN_ERROR|HTTP_[1-9]\d{2})$/);

/** The recorded result of one check (specification "Monitor event", design §3). */
export const eventSchema = z
  .strictObject({
    id: z.uuid(),
    monitorId: z.uuid(),
    monitorName: z.string(),
    status: z.enum(CHECK_STATUSES),
    latency: milliseconds,
    statusCode: z.int().nullable(),
    errorReason: errorReasonSchema.nullable(),
    errorDetail: z.string().nullable(),
    region: z.string(),
    timestamp: z.iso.datetime({ precision: 3 }),
    source: z.enum(CHECK_SOURCES),
    url: z.string().nullable(),
    timings: timingsSchema,
    runbookUrl: z.string().nullable(),
  })
  .meta({ id: 'Event' });
export type Event = z.infer<typeof eventSchema>;
