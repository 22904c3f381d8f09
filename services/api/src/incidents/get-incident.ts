import { getIncident } from '@tocsin/db/incidents/read-incidents';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';

/** One incident. */
export function getIncidentHandler({ db }: ApiContext): RequestHandler {
  return async function answerGet(req, res) {
    res.json({ incident: await getIncident(db, callerOf(res).accountId, pathIdOf(req)) });
  };
}
