import { statsQuerySchema } from '@tocsin/contracts/monitors/stats';
import { getMonitorStats } from '@tocsin/db/check-rollups/monitor-stats';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { parseFields } from '../http/parse-fields.ts';
import { callerOf } from '../http/request-state.ts';
import { monitorIdOf } from './monitor-id.ts';
import { parseForMonitor } from './parse-for-monitor.ts';

/** A monitor's uptime, gaps and latency over a window, for the dashboard (design §3 "Dashboard API"). */
export function getStatsHandler(context: ApiContext): RequestHandler {
  return async function answerStats(req, res) {
    const id = monitorIdOf(req);
    const { accountId } = callerOf(res);
    const { window } = await parseForMonitor(context, accountId, id, () =>
      parseFields(statsQuerySchema, req.query),
    );
    res.json({ stats: await getMonitorStats(context.db, accountId, id, window) });
  };
}
