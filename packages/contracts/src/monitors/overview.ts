import { z } from 'zod';
import { component, timestamp } from '../fields.ts';
import { monitorSchema } from './monitor.ts';

const listed = monitorSchema.shape;

const openIncidentSchema = component('OpenIncident', 'The open incident of a monitor.', {
  id: z.uuid(),
  openedAt: timestamp,
  acknowledgedAt: timestamp.nullable(),
  acknowledgedBy: z.string().nullable().describe('The name of the user who acknowledged it.'),
});

const monitorOverviewSchema = component('MonitorOverview', 'What lists show of a monitor.', {
  id: listed.id,
  name: listed.name,
  url: listed.url,
  source: listed.source,
  externalId: listed.externalId,
  labels: listed.labels,
  enabled: listed.enabled,
  status: listed.status,
  statusSince: listed.statusSince,
  errorDetail: listed.errorDetail,
  interval: listed.interval,
  regions: listed.regions,
  lastCheckedAt: listed.lastCheckedAt,
  certificateExpiresAt: timestamp
    .nullable()
    .describe('When the first certificate expires that a region received. Null without TLS.'),
  updatedAt: listed.updatedAt,
  failing: z
    .boolean()
    .describe(
      'Whether it is `DOWN`, or in maintenance and would be `DOWN` if that ended now. False while it is paused.',
    ),
  incident: openIncidentSchema.nullable().describe('Null while no incident is open.'),
});
export type MonitorOverview = z.infer<typeof monitorOverviewSchema>;

export const overviewSchema = z.strictObject({
  position: timestamp.describe(
    'Where the live stream continues: pass it as `lastEventId`. Everything recorded after the read is then sent.',
  ),
  monitors: z.array(monitorOverviewSchema),
});
export type Overview = z.infer<typeof overviewSchema>;
