import { createMonitor } from '@tocsin/db/monitors/create-monitor';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { callerOf } from '../http/request-state.ts';
import { parseCreate } from './monitor-fields.ts';

/** Specification "2. Create a monitor". */
export function createMonitorHandler(context: ApiContext): RequestHandler {
  const { defaultRegion, regions } = context.settings;
  return async function answerCreate(req, res) {
    const input = parseCreate(bodyOf(req), regions);
    const { accountId } = callerOf(res);
    const { monitor, schedule } = await createMonitor(context, accountId, input, defaultRegion);
    context.schedules.touch(schedule.monitorId, schedule.regions);
    res.status(201).location(`${req.baseUrl}/${monitor.id}`).json({ monitor });
  };
}
