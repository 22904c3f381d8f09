import { updateMonitor } from '@tocsin/db/monitors/update-monitor';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { etagOf, ifMatchOf } from '../http/request-headers.ts';
import { callerOf } from '../http/request-state.ts';
import { hintStatusChanges } from './hint-status-changes.ts';
import { parseUpdate } from './monitor-fields.ts';
import { monitorIdOf } from './monitor-id.ts';
import { parseForMonitor } from './parse-for-monitor.ts';

/** Specification "4. Update a monitor". */
export function updateMonitorHandler(context: ApiContext): RequestHandler {
  const { defaultRegion, regions } = context.settings;
  return async function answerUpdate(req, res) {
    const id = monitorIdOf(req);
    const { accountId } = callerOf(res);
    const update = await parseForMonitor(context, accountId, id, () => parseUpdate(bodyOf(req), regions));
    const updated = await updateMonitor(context, accountId, id, update, defaultRegion, ifMatchOf(req));
    if (updated.changed) context.schedules.touch(id, updated.schedule.regions);
    if (updated.statusChange?.due === true) hintStatusChanges(context, [updated.statusChange.id]);
    res.set('ETag', etagOf(updated.version)).json({ monitor: updated.monitor });
  };
}
