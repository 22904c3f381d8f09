import { createMonitor, createMonitorOnce } from '@tocsin/db/monitors/create-monitor';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf } from '../http/json-body.ts';
import { etagOf, idempotencyKeyOf } from '../http/request-headers.ts';
import { callerOf } from '../http/request-state.ts';
import { parseCreate } from './monitor-fields.ts';

/** Specification "2. Create a monitor"; with an Idempotency-Key, once (design §3). */
export function createMonitorHandler(context: ApiContext): RequestHandler {
  const { defaultRegion, regions } = context.settings;
  return async function answerCreate(req, res) {
    const key = idempotencyKeyOf(req);
    const input = parseCreate(bodyOf(req), regions);
    const { accountId } = callerOf(res);
    const { monitor, version, schedule } =
      key === null
        ? await createMonitor(context, accountId, input, defaultRegion)
        : await createMonitorOnce(context, accountId, input, defaultRegion, key);
    if (schedule === null) res.set('Idempotency-Replayed', 'true');
    else context.schedules.touch(schedule.monitorId, schedule.regions);
    res.status(201).set('ETag', etagOf(version)).location(`${req.baseUrl}/${monitor.id}`).json({ monitor });
  };
}
