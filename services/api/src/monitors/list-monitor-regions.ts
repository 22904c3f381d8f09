import { listMonitorRegions } from '@tocsin/db/monitor-regions/read-regions';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { callerOf } from '../http/request-state.ts';
import { monitorIdOf } from './monitor-id.ts';

/** What each region of a monitor last said, and the certificate it saw, for the dashboard (design §3 "Dashboard API"). */
export function listMonitorRegionsHandler({ db }: Pick<ApiContext, 'db'>): RequestHandler {
  return async function answerRegions(req, res) {
    res.json({ regions: await listMonitorRegions(db, callerOf(res).accountId, monitorIdOf(req)) });
  };
}
