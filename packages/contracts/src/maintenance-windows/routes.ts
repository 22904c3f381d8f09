import { z } from 'zod';
import { MAINTENANCE_WINDOW, MONITOR } from '../routes/examples.ts';
import {
  CREATE,
  defineRoutes,
  DELETE,
  noFields,
  READ,
  READ_BY_EXTERNAL_ID,
  UPDATE,
  withDashboard,
} from '../routes/route.ts';
import {
  createMaintenanceWindowSchema,
  listedMaintenanceWindowSchema,
  maintenanceWindowPreviewSchema,
  maintenanceWindowSchema,
  maintenanceWindowsQuerySchema,
  previewMaintenanceWindowSchema,
  updateMaintenanceWindowSchema,
} from './maintenance-window.ts';

const tag = 'Maintenance windows';
const resource = 'maintenanceWindow';
const response = z.strictObject({ maintenanceWindow: maintenanceWindowSchema });
const responseExample = { maintenanceWindow: MAINTENANCE_WINDOW };
const returned = { response, responseExample };
const { upcoming: _, ...record } = MAINTENANCE_WINDOW;
const listed = { ...record, etag: '"Vx4mP2sd"' };

const sharedRoutes = defineRoutes(
  { tag, access: 'write key' },
  {
    listMaintenanceWindows: {
      endpoint: 'GET /api/cli/maintenance-windows',
      access: 'key',
      summary: 'List maintenance windows',
      description: 'Newest first.',
      query: maintenanceWindowsQuerySchema,
      response: z.strictObject({ maintenanceWindows: z.array(listedMaintenanceWindowSchema) }),
      responseExample: { maintenanceWindows: [listed] },
    },
    createMaintenanceWindow: {
      ...CREATE,
      endpoint: 'POST /api/cli/maintenance-windows',
      summary: 'Create a maintenance window',
      description:
        'A window takes place once, or recurs by a rule whose occurrences do not overlap. One that starts now takes effect before the response; later, maintenance begins and ends within two seconds of the plan. With a key that is bound to sources, `selector` and `allMonitors` cover only monitors of these sources.',
      body: createMaintenanceWindowSchema,
      bodyExample: {
        name: 'Weekly upgrade',
        startsAt: '2026-11-28T03:00:00+01:00',
        durationSeconds: 7_200,
        selector: { matchLabels: { app: 'shop' } },
        rrule: 'FREQ=WEEKLY;BYDAY=SA',
        timeZone: 'Europe/Berlin',
      },
      response: response.extend({
        monitorCount: z.int().min(0).describe('How many monitors it covers when it is created.'),
      }),
      responseExample: { ...responseExample, monitorCount: 1 },
    },
    getMaintenanceWindow: {
      ...READ,
      endpoint: 'GET /api/cli/maintenance-windows/:id',
      summary: 'Get a maintenance window',
      resource,
      ...returned,
    },
    getMaintenanceWindowByExternalId: {
      ...READ_BY_EXTERNAL_ID,
      endpoint: 'GET /api/cli/maintenance-windows/by-external-id/:externalId',
      summary: 'Get a maintenance window by its externalId',
      ...returned,
    },
    updateMaintenanceWindow: {
      ...UPDATE,
      endpoint: 'PUT /api/cli/maintenance-windows/:id',
      summary: 'Update a maintenance window',
      description: 'Changes only the fields given. Takes effect for its monitors within two seconds.',
      resource,
      body: updateMaintenanceWindowSchema,
      bodyExample: { endsAt: '2026-11-28T06:00:00+01:00' },
      ...returned,
    },
    deleteMaintenanceWindow: {
      ...DELETE,
      endpoint: 'DELETE /api/cli/maintenance-windows/:id',
      summary: 'Delete a maintenance window',
      description: 'Ends its maintenance if it is running.',
      resource,
    },
    endMaintenance: {
      endpoint: 'POST /api/cli/maintenance-windows/:id/end',
      summary: 'End maintenance now',
      description:
        'Ends the running occurrence, by the clock of the server. A recurring window continues with its next occurrence. A window that is not running stays unchanged.',
      resource,
      body: noFields,
      ...returned,
      responseHeaders: ['ETag'],
    },
  },
);

const dashboardRoutes = defineRoutes(
  { tag, access: 'member' },
  {
    previewMaintenanceWindow: {
      endpoint: 'POST /api/dashboard/maintenance-windows/preview',
      summary: 'Preview a maintenance window',
      description:
        'The next occurrences of a window with these fields, its starts that clock changes affect, and the other windows that overlap with them on the same monitors. Changes nothing.',
      body: previewMaintenanceWindowSchema,
      bodyExample: {
        startsAt: '2026-11-28T03:00:00+01:00',
        endsAt: '2026-11-28T05:00:00+01:00',
        rrule: 'FREQ=WEEKLY;BYDAY=SA',
        timeZone: 'Europe/Berlin',
        monitorIds: [MONITOR.id],
      },
      response: maintenanceWindowPreviewSchema,
      responseExample: {
        occurrences: MAINTENANCE_WINDOW.upcoming,
        clockChanges: [{ localTime: '2027-10-31T02:30:00', occurs: 'twice' }],
        overlaps: [
          {
            maintenanceWindowId: '019a9f17-9a0b-7c1d-8e2f-30415263748a',
            name: 'Backups',
            startsAt: '2026-11-28T02:30:00.000Z',
            monitorCount: 1,
          },
        ],
      },
    },
  },
);

export const maintenanceWindowRoutes = { ...withDashboard(sharedRoutes), ...dashboardRoutes };
