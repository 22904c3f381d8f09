import { getMonitor } from '@tocsin/db/monitors/read-monitors';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { etagOf } from '../http/request-headers.ts';
import { callerOf } from '../http/request-state.ts';
import { monitorIdOf } from './monitor-id.ts';

/** Specification "3. Get a monitor": with its 10 most recent events, newest first. */
export function getMonitorHandler(context: ApiContext): RequestHandler {
  return async function answerGet(req, res) {
    const { version, ...answer } = await getMonitor(context, callerOf(res).accountId, monitorIdOf(req));
    res.set('ETag', etagOf(version)).json(answer);
  };
}
