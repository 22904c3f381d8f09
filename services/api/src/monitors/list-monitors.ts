import { listMonitors } from '@tocsin/db/monitors/read-monitors';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { callerOf } from '../http/request-state.ts';

/** Specification "1. List monitors". */
export function listMonitorsHandler(context: ApiContext): RequestHandler {
  return async function answerList(_req, res) {
    const monitors = await listMonitors(context, callerOf(res).accountId);
    res.json({ monitors });
  };
}
