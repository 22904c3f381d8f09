import { incidentsQuerySchema } from '@tocsin/contracts/incidents/incident';
import { listIncidents } from '@tocsin/db/incidents/read-incidents';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { parseFields } from '../http/parse-fields.ts';
import { callerOf } from '../http/request-state.ts';

/** A page of the account's incidents, latest first. */
export function listIncidentsHandler({ db }: ApiContext): RequestHandler {
  return async function answerList(req, res) {
    const query = parseFields(incidentsQuerySchema, req.query);
    res.json({ incidents: await listIncidents(db, callerOf(res).accountId, query) });
  };
}
