import { z } from 'zod';
import { auditEntrySchema } from '../audit-log/audit-log.ts';
import { deliverySchema } from '../deliveries/delivery.ts';
import { component, label, timestamp } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { eventSchema, statusChangeSchema } from '../monitors/events.ts';
import { personSchema } from './incident.ts';

export const incidentNoteSchema = component('IncidentNote', 'What a user wrote about an incident.', {
  id: z.uuid(),
  text: z.string().describe('Markdown.'),
  author: personSchema,
  createdAt: timestamp,
  editedAt: timestamp.nullable().describe('Null if it was never edited.'),
});
export type IncidentNote = z.infer<typeof incidentNoteSchema>;

export const writeNoteSchema = component('IncidentNoteText', {
  text: label(LIMITS.noteCharacters).describe('Markdown.'),
});

const timelineDeliverySchema = deliverySchema
  .extend({
    channel: z.strictObject({ id: z.uuid(), name: z.string() }),
    statusCode: z.int().nullable().describe('Of the last attempt; null without a response.'),
    error: z.string().nullable().describe('Of the last attempt; null after a 2xx, or before it.'),
  })
  .meta({ id: 'IncidentDelivery', description: 'A delivery with its channel and its last attempt.' });
export type TimelineDelivery = z.infer<typeof timelineDeliverySchema>;

const occurrenceSchema = component('IncidentMaintenance', 'Maintenance of the monitor.', {
  windowId: z.uuid(),
  name: z.string(),
  startsAt: timestamp,
  endsAt: timestamp,
});

function entry<const Kind extends string, Record extends z.ZodRawShape>(kind: Kind, record: Record) {
  return z.strictObject({
    kind: z.literal(kind),
    timestamp: z.string().meta({ format: 'date-time' }),
    ...record,
  });
}

/** Kinds of entries, in the order for entries with the same timestamp. */
export const TIMELINE_KINDS = [
  'configuration',
  'maintenance',
  'check',
  'opened',
  'status-change',
  'resolved',
  'delivery',
  'acknowledged',
  'acknowledgement-removed',
  'note',
] as const;

const timelineEntrySchema = z
  .discriminatedUnion('kind', [
    entry('configuration', { change: auditEntrySchema }),
    entry('maintenance', { maintenance: occurrenceSchema }),
    entry('check', { check: eventSchema }),
    entry('opened', {}),
    entry('status-change', { statusChange: statusChangeSchema }),
    entry('resolved', {}),
    entry('delivery', { delivery: timelineDeliverySchema }),
    entry('acknowledged', { by: personSchema }),
    entry('acknowledgement-removed', { by: personSchema }),
    entry('note', { note: incidentNoteSchema }),
  ])
  .meta({ id: 'IncidentTimelineEntry' });
export type TimelineEntry = z.infer<typeof timelineEntrySchema>;

export const timelineSchema = component('IncidentTimeline', 'What happened around an incident.', {
  entries: z.array(timelineEntrySchema).describe('In chronological order.'),
  complete: z.boolean().describe('False if some were left out, because there are too many.'),
});
export type Timeline = z.infer<typeof timelineSchema>;
