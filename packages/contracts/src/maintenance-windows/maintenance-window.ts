import { z } from 'zod';
import {
  boundedInteger,
  component,
  etag,
  flag,
  identifiers,
  idOf,
  instant,
  label,
  monitorIdSet,
  pageBefore,
  pageLimit,
  sourceFilter,
  storableText,
  timestamp,
} from '../fields.ts';
import { selectorSchema } from '../labels/selector.ts';
import { LIMITS } from '../limits.ts';

/** An `ended` window has no occurrences left. */
const MAINTENANCE_WINDOW_STATES = ['scheduled', 'running', 'ended'] as const;
export type MaintenanceWindowState = (typeof MAINTENANCE_WINDOW_STATES)[number];

const MAX_MONITORS = LIMITS.maintenanceMonitors;
const MAX_TEXT = 500;

const idList = monitorIdSet(MAX_MONITORS);

/** Fields of a maintenance window. `validateSchedule` in core checks rules between fields. */
const fields = {
  name: label(LIMITS.nameCharacters).describe('Display name.'),
  startsAt: instant().describe('Start of the first occurrence, within ten years of now.'),
  endsAt: instant().describe(
    `End of the first occurrence: at most ${LIMITS.maintenanceDays} days after \`startsAt\`, and in the future. Later occurrences end at the same local time.`,
  ),
  monitorIds: idList.describe('Monitors under maintenance; replaced as a whole.'),
  selector: selectorSchema
    .nullable()
    .describe('While it runs, it also covers the monitors that match. Null: none.'),
  allMonitors: flag.describe(
    'Whether it covers every monitor of the account, including those created while it runs.',
  ),
  rrule: storableText
    .max(MAX_TEXT, { error: `must be at most ${MAX_TEXT} characters` })
    .nullable()
    .describe('A recurrence rule of RFC 5545 without `DTSTART`, such as `FREQ=WEEKLY;BYDAY=SA`. Null: once.'),
  timeZone: storableText
    .max(MAX_TEXT, { error: `must be at most ${MAX_TEXT} characters` })
    .describe('IANA name of the time zone in which occurrences keep their local start and end.'),
};

const keys = identifiers('among the maintenance windows of the account');

const created = z.strictObject({
  ...fields,
  monitorIds: fields.monitorIds.default([]),
  selector: fields.selector.default(null),
  allMonitors: fields.allMonitors.default(false),
  rrule: fields.rrule.default(null),
  timeZone: fields.timeZone.default('UTC'),
});

/** A duration can replace the end, and externalIds the ids of monitors. */
export const createMaintenanceWindowSchema = component('MaintenanceWindowCreate', {
  ...created.shape,
  externalId: keys.externalId.default(null),
  source: keys.source.default(null),
  startsAt: created.shape.startsAt
    .optional()
    .describe("Start of the first occurrence, within ten years of now. Default: now, by the server's clock."),
  endsAt: created.shape.endsAt
    .optional()
    .describe(
      `End of the first occurrence: at most ${LIMITS.maintenanceDays} days after \`startsAt\`, and in the future. Exactly one of this and \`durationSeconds\` is required.`,
    ),
  durationSeconds: boundedInteger(1, LIMITS.maintenanceDays * 86_400, 'seconds')
    .optional()
    .describe('Length of the first occurrence, in place of `endsAt`.'),
  externalIds: z
    .array(storableText, { error: 'must be an array of externalIds' })
    .max(MAX_MONITORS, { error: `must contain at most ${MAX_MONITORS} monitors` })
    .default([])
    .describe('Further monitors under maintenance, by their `externalId`.'),
}).superRefine(({ endsAt, durationSeconds }, context) => {
  const isOnlyOne = (endsAt === undefined) !== (durationSeconds === undefined);
  if (!isOnlyOne)
    context.addIssue({
      code: 'custom',
      path: ['endsAt'],
      message: 'exactly one of endsAt and durationSeconds must be given',
    });
});
export type MaintenanceWindowInput = z.output<typeof createMaintenanceWindowSchema>;

export const updateMaintenanceWindowSchema = z
  .strictObject({ ...fields, ...keys })
  .partial()
  .meta({ id: 'MaintenanceWindowUpdate' });
export type MaintenanceWindowUpdate = z.output<typeof updateMaintenanceWindowSchema>;

/** Fields that determine when and where a window takes place. */
export const previewMaintenanceWindowSchema = created
  .omit({ name: true, monitorIds: true })
  .extend({
    monitorIds: idList
      .default([])
      .describe(
        'The monitors whose other maintenance windows are compared, besides those that match. Unknown ids are ignored.',
      ),
    maintenanceWindowId: idOf('a maintenance window')
      .optional()
      .describe('The window that is being edited: it is not compared, and its schedule may be in the past.'),
  })
  .meta({ id: 'MaintenanceWindowPreviewRequest' });

const occurrenceSchema = component('Occurrence', { startsAt: timestamp, endsAt: timestamp });

const clockChangeSchema = component('MaintenanceWindowClockChange', {
  localTime: z.iso
    .datetime({ local: true })
    .describe('In the time zone of the window, such as `2027-03-28T01:30:00`.'),
  occurs: z
    .enum(['never', 'twice'])
    .describe('`never`: no occurrence starts. `twice`: the occurrence starts at the first.'),
});
const CLOCK_CHANGES =
  'Starts within the next 400 days at local times that do not exist, or exist twice, on that day.';

export const maintenanceWindowSchema = component(
  'MaintenanceWindow',
  'A planned time, once or recurring, in which its monitors are checked but send no alerts.',
  {
    id: z.uuid(),
    ...fields,
    ...keys,
    startsAt: timestamp.describe('Start of the first occurrence.'),
    endsAt: timestamp.describe('End of the first occurrence.'),
    monitorIds: z.array(z.uuid()).describe('The monitors that it names, ordered by id.'),
    sources: z
      .array(z.string())
      .nullable()
      .describe(
        'The sources of the API key that created it: `selector` and `allMonitors` cover only monitors of these. Null: of all.',
      ),
    state: z.enum(MAINTENANCE_WINDOW_STATES).describe('`ended`: no occurrence is left.'),
    currentOccurrence: occurrenceSchema.nullable().describe('The running occurrence, or null.'),
    nextOccurrence: occurrenceSchema.nullable().describe('The next occurrence that has not begun, or null.'),
    clockChanges: z.array(clockChangeSchema).describe(CLOCK_CHANGES),
    upcoming: z.array(occurrenceSchema).describe('The next five occurrences that have not begun.'),
    createdAt: timestamp,
    updatedAt: timestamp,
  },
);
export type MaintenanceWindow = z.infer<typeof maintenanceWindowSchema>;

/** Lists omit fields that are expensive to evaluate. */
export const listedMaintenanceWindowSchema = maintenanceWindowSchema
  .omit({ upcoming: true })
  .extend({ etag })
  .meta({
    id: 'ListedMaintenanceWindow',
    description:
      'A maintenance window in a list: `nextOccurrence` is null while one runs, and `clockChanges` is empty if the rule has `COUNT`.',
  });
export type ListedMaintenanceWindow = z.infer<typeof listedMaintenanceWindowSchema>;

export const maintenanceWindowPreviewSchema = component('MaintenanceWindowPreview', {
  occurrences: z.array(occurrenceSchema).describe('The next five that end after now.'),
  clockChanges: z.array(clockChangeSchema).describe(CLOCK_CHANGES),
  overlaps: z
    .array(
      component('MaintenanceWindowOverlap', {
        maintenanceWindowId: z.uuid(),
        name: z.string(),
        startsAt: timestamp.describe('When both windows first run together.'),
        monitorCount: z.int().min(1).describe('Monitors that are in both windows.'),
      }),
    )
    .describe('Other windows that run on the same monitors during one of the occurrences.'),
});
export type MaintenanceWindowPreview = z.infer<typeof maintenanceWindowPreviewSchema>;

export const maintenanceWindowsQuerySchema = z.object({
  limit: pageLimit,
  before: pageBefore,
  source: sourceFilter,
});
export type MaintenanceWindowsQuery = z.infer<typeof maintenanceWindowsQuerySchema>;
