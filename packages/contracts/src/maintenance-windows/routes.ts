import { MAINTENANCE_WINDOW, MONITOR } from '../routes/examples.ts';
import { DASHBOARD, many, nothing, one } from '../routes/route.ts';
import type { Operations } from '../routes/route.ts';
import {
  createMaintenanceWindowSchema,
  listedMaintenanceWindowSchema,
  maintenanceWindowSchema,
  maintenanceWindowsQuerySchema,
  updateMaintenanceWindowSchema,
} from './maintenance-window.ts';

const WINDOWS = `${DASHBOARD}/maintenance-windows`;
const tag = 'Maintenance windows';
const kind = 'maintenanceWindow';
const answer = one('maintenanceWindow', maintenanceWindowSchema);
const answerExample = { maintenanceWindow: MAINTENANCE_WINDOW };
const { upcoming: _, ...listed } = MAINTENANCE_WINDOW;

/** Maintenance windows (design §3 "Dashboard API"). */
export const maintenanceWindowOperations: Operations = {
  [`GET ${WINDOWS}`]: {
    id: 'listMaintenanceWindows',
    tag,
    summary: 'List maintenance windows',
    description: 'The newest first.',
    needs: 'member',
    query: maintenanceWindowsQuerySchema,
    ok: 200,
    answer: many('maintenanceWindows', listedMaintenanceWindowSchema),
    answerExample: { maintenanceWindows: [listed] },
  },
  [`POST ${WINDOWS}`]: {
    id: 'createMaintenanceWindow',
    tag,
    summary: 'Plan maintenance',
    description:
      'Once, or by a rule that leaves time for each occurrence before the next. It begins and ends within two seconds of its plan.',
    needs: 'member',
    body: createMaintenanceWindowSchema,
    bodyExample: {
      name: 'Weekly upgrade',
      startsAt: '2026-11-28T03:00:00+01:00',
      endsAt: '2026-11-28T05:00:00+01:00',
      monitorIds: [MONITOR.id],
      rrule: 'FREQ=WEEKLY;BYDAY=SA',
      timeZone: 'Europe/Berlin',
    },
    ok: 201,
    answer,
    answerExample,
    answerHeaders: ['Location'],
  },
  [`GET ${WINDOWS}/:id`]: {
    id: 'getMaintenanceWindow',
    tag,
    summary: 'Get a maintenance window',
    needs: 'member',
    kind,
    ok: 200,
    answer,
    answerExample,
  },
  [`PATCH ${WINDOWS}/:id`]: {
    id: 'updateMaintenanceWindow',
    tag,
    summary: 'Update a maintenance window',
    description:
      'Only the fields that are given change. What that means for its monitors takes effect within two seconds.',
    needs: 'member',
    kind,
    body: updateMaintenanceWindowSchema,
    bodyExample: { endsAt: '2026-11-28T06:00:00+01:00' },
    ok: 200,
    answer,
    answerExample,
  },
  [`DELETE ${WINDOWS}/:id`]: {
    id: 'deleteMaintenanceWindow',
    tag,
    summary: 'Delete a maintenance window',
    description: 'Ends it if it runs.',
    needs: 'member',
    kind,
    ok: 204,
    answer: null,
  },
  [`POST ${WINDOWS}/:id/end`]: {
    id: 'endMaintenance',
    tag,
    summary: 'End maintenance now',
    description:
      'Ends the occurrence that runs, by the clock of the server. A window that recurs goes on with its next occurrence; one that does not run stays as it is.',
    needs: 'member',
    kind,
    body: nothing,
    ok: 200,
    answer,
    answerExample,
  },
};
