import { z } from 'zod';
import { component, instant, oneOf, timestamp } from '../fields.ts';
import { labelKeyProblem } from '../labels/labels.ts';
import { selectorParameter } from '../labels/selector-parameter.ts';

const MAINTENANCE_MODES = ['excluded', 'included'] as const;

export const availabilityQuerySchema = z
  .object({
    from: instant().describe('The start of the period: in the past, and at most 13 months ago.'),
    to: instant().describe('The end of the period, exclusive. A time in the future counts as now.'),
    groupBy: z
      .string({ error: 'must be given only once' })
      .superRefine((key, context) => {
        const problem = key === 'monitor' ? null : labelKeyProblem(key);
        if (problem !== null)
          context.addIssue({
            code: 'custom',
            message: `must be monitor or the key of a label: it ${problem}`,
          });
      })
      .default('monitor')
      .describe('`monitor`, or the key of a label: one row for each of its values.'),
    selector: selectorParameter
      .default({})
      .describe('Only monitors whose labels match, such as `app=shop,tier in (web,api)`.')
      .meta({ type: 'string', default: undefined }),
    maintenance: oneOf(MAINTENANCE_MODES)
      .default('excluded')
      .describe('Whether time in maintenance counts like any other time.'),
  })
  .superRefine(({ from, to }, context) => {
    if (from >= to) context.addIssue({ code: 'custom', path: ['to'], message: 'must be after from' });
  });
export type AvailabilityQuery = z.output<typeof availabilityQuerySchema>;

const count = z.int().min(0);
const share = z.number().min(0).max(1);
const seconds = z.number().min(0);

const availabilityFiguresSchema = component('AvailabilityFigures', {
  monitors: count.describe('How many monitors the figures are of.'),
  uptime: share
    .nullable()
    .describe(
      'The share of counted time without an open incident. Counted time is measured time, without maintenance unless it is included. Null if no time counts.',
    ),
  measured: share.describe('The share of the period in which the monitor existed and had results.'),
  downtimeSeconds: seconds.describe('How long incidents were open.'),
  maintenanceSeconds: seconds.describe('How long the monitor was in maintenance, excluded or not.'),
  incidents: count.describe('Incidents with downtime in the period.'),
  longestIncidentSeconds: seconds.describe('The most downtime of one incident in the period.'),
  mttrSeconds: seconds
    .nullable()
    .describe('Mean time to recovery: downtime divided by incidents; null without incidents.'),
  passRate: share.nullable().describe('The share of the checks that passed; null without checks.'),
  checks: count.describe('Checks that ran, including those in maintenance.'),
  failures: count.describe('Checks that failed.'),
  gaps: count.describe('Scheduled checks that did not run.'),
});
export type AvailabilityFigures = z.infer<typeof availabilityFiguresSchema>;

export const availabilityReportSchema = component(
  'AvailabilityReport',
  'How available monitors were in a period. Deleted monitors are left out.',
  {
    from: timestamp,
    to: timestamp.describe('The end of the period, at most now.'),
    groupBy: z.string().describe('`monitor` or the key of a label.'),
    maintenance: z.enum(MAINTENANCE_MODES),
    rows: z
      .array(
        component('AvailabilityRow', {
          monitorId: z.uuid().nullable().describe('Null for a group of monitors.'),
          name: z
            .string()
            .nullable()
            .describe(
              'The name of the monitor, or the value of the label; null for monitors without the label.',
            ),
          ...availabilityFiguresSchema.shape,
        }),
      )
      .describe('By name.'),
    total: availabilityFiguresSchema.describe('Of all rows together.'),
  },
);
export type AvailabilityReport = z.infer<typeof availabilityReportSchema>;
export type AvailabilityRow = AvailabilityReport['rows'][number];
