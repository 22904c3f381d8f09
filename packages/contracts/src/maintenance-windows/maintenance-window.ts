import { z } from 'zod';
import { pageBefore } from '../deliveries/delivery.ts';
import { label, parseTimestamp, storableText } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { pageLimit } from '../monitors/events.ts';

/** `ended`: no occurrence is left. */
const MAINTENANCE_WINDOW_STATES = ['scheduled', 'running', 'ended'] as const;
export type MaintenanceWindowState = (typeof MAINTENANCE_WINDOW_STATES)[number];

const MAX_MONITORS = 5_000;
const MAX_TEXT = 500;

/** An instant with any offset; kept to the millisecond. */
const instant = storableText
  .transform((text, context) => {
    const date = parseTimestamp(text);
    if (date !== null) return date;
    context.addIssue({
      code: 'custom',
      message: 'must be an ISO 8601 timestamp with an offset, such as 2026-01-31T12:00:00.000Z',
    });
    return z.NEVER;
  })
  .meta({ format: 'date-time' });

const idList = z
  .array(
    z.uuid({ error: 'must be the id of a monitor' }).transform((id) => id.toLowerCase()),
    { error: 'must be an array of ids of monitors' },
  )
  .max(MAX_MONITORS, { error: `must name at most ${MAX_MONITORS} monitors` })
  .refine((ids) => new Set(ids).size === ids.length, { error: 'must not name a monitor twice' })
  .meta({ uniqueItems: true });
const monitorIds = idList.min(1, { error: 'must name at least one monitor' }).meta({ uniqueItems: true });

/** The field rules of a maintenance window; what spans fields is judged by `windowProblems` of core. */
const fields = {
  name: label(LIMITS.nameCharacters).describe('Display name. White space around it is removed.'),
  startsAt: instant.describe('When the first occurrence begins, within ten years of now.'),
  endsAt: instant.describe(
    'When the first occurrence ends: after `startsAt`, at most 30 days, and not past.',
  ),
  monitorIds: monitorIds.describe('The monitors that it silences; replaced as a whole.'),
  rrule: storableText
    .max(MAX_TEXT, { error: `must be at most ${MAX_TEXT} characters` })
    .nullable()
    .describe('A rule of RFC 5545 without `DTSTART`, such as `FREQ=WEEKLY;BYDAY=SA`. Null: once.'),
  timeZone: storableText
    .max(MAX_TEXT, { error: `must be at most ${MAX_TEXT} characters` })
    .describe('IANA name of the time zone in which occurrences keep their local time.'),
};

/** Body of "create a maintenance window" (design §3 "Dashboard API"). */
export const createMaintenanceWindowSchema = z
  .strictObject({
    ...fields,
    rrule: fields.rrule.default(null),
    timeZone: fields.timeZone.default('UTC'),
  })
  .meta({ id: 'MaintenanceWindowCreate' });
export type MaintenanceWindowInput = z.output<typeof createMaintenanceWindowSchema>;

/** Body of "update a maintenance window": any subset; omitted fields stay as they are, `monitorIds` is replaced as a whole. */
export const updateMaintenanceWindowSchema = z
  .strictObject(fields)
  .partial()
  .meta({ id: 'MaintenanceWindowUpdate' });
export type MaintenanceWindowUpdate = z.output<typeof updateMaintenanceWindowSchema>;

/** Body of "preview a maintenance window": the fields that decide when and where it takes place. */
export const previewMaintenanceWindowSchema = createMaintenanceWindowSchema
  .omit({ name: true, monitorIds: true })
  .extend({
    monitorIds: idList
      .default([])
      .describe('The monitors whose other maintenance windows are compared. Unknown ids are ignored.'),
    maintenanceWindowId: z
      .uuid({ error: 'must be the id of a maintenance window' })
      .transform((id) => id.toLowerCase())
      .optional()
      .describe('The window that is being edited: it is not compared, and its schedule may be in the past.'),
  })
  .meta({ id: 'MaintenanceWindowPreviewRequest' });

const timestamp = z.iso.datetime({ precision: 3 });
const occurrenceSchema = z
  .strictObject({ startsAt: timestamp, endsAt: timestamp })
  .meta({ id: 'Occurrence' });

/** The record as the API answers it. */
export const maintenanceWindowSchema = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    startsAt: timestamp.describe('When the first occurrence begins.'),
    endsAt: timestamp.describe('When the first occurrence ends.'),
    monitorIds: z.array(z.uuid()),
    rrule: z.string().nullable().describe('Null: once.'),
    timeZone: z.string(),
    state: z.enum(MAINTENANCE_WINDOW_STATES).describe('`ended`: no occurrence is left.'),
    currentOccurrence: occurrenceSchema.nullable().describe('The occurrence that runs now, or null.'),
    nextOccurrence: occurrenceSchema.nullable().describe('The next one that has not begun, or null.'),
    upcoming: z.array(occurrenceSchema).describe('The next five occurrences that have not begun.'),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({
    id: 'MaintenanceWindow',
    description: 'A time, once or by a rule, in which its monitors are checked and alert nobody.',
  });
export type MaintenanceWindow = z.infer<typeof maintenanceWindowSchema>;

/** The record as a list shows it: what is stored, no rule evaluated. So `nextOccurrence` is null while one runs. */
export const listedMaintenanceWindowSchema = maintenanceWindowSchema.omit({ upcoming: true }).meta({
  id: 'ListedMaintenanceWindow',
  description: 'A maintenance window in a list: `nextOccurrence` is null while one runs.',
});
export type ListedMaintenanceWindow = z.infer<typeof listedMaintenanceWindowSchema>;

export const maintenanceWindowPreviewSchema = z
  .strictObject({
    occurrences: z.array(occurrenceSchema).describe('The next five that end after now.'),
    overlaps: z
      .array(
        z
          .strictObject({
            maintenanceWindowId: z.uuid(),
            name: z.string(),
            startsAt: timestamp.describe('When both windows first run together.'),
            monitorCount: z.int().min(1).describe('Monitors that both windows have.'),
          })
          .meta({ id: 'MaintenanceWindowOverlap' }),
      )
      .describe('Other windows that run on the same monitors during one of the occurrences.'),
  })
  .meta({ id: 'MaintenanceWindowPreview' });
export type MaintenanceWindowPreview = z.infer<typeof maintenanceWindowPreviewSchema>;

/** Query of the list of maintenance windows. */
export const maintenanceWindowsQuerySchema = z.object({ limit: pageLimit, before: pageBefore });
export type MaintenanceWindowsQuery = z.infer<typeof maintenanceWindowsQuerySchema>;
