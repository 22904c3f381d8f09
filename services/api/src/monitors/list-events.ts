import { fieldsOf, toFieldErrors } from '@tocsin/contracts/field-errors';
import { eventsQuerySchema } from '@tocsin/contracts/monitors/events';
import type { EventsQuery } from '@tocsin/contracts/monitors/events';
import { listEvents } from '@tocsin/db/events/read-events';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { invalidFields } from '../http/field-errors.ts';
import { callerOf } from '../http/request-state.ts';
import { monitorIdOf } from './monitor-id.ts';
import { parseForMonitor } from './parse-for-monitor.ts';

/** Specification "7. List monitor events"; how `since` tails: design §3 "Events and tailing". */
export function listEventsHandler(context: ApiContext): RequestHandler {
  return async function answerEvents(req, res) {
    const id = monitorIdOf(req);
    const { accountId } = callerOf(res);
    const range = await parseForMonitor(context, accountId, id, () => parseQuery(req.query));
    res.json({ events: await listEvents(context.db, accountId, id, range) });
  };
}

function parseQuery(query: object): EventsQuery {
  const result = eventsQuerySchema.safeParse(query);
  if (result.success) return result.data;
  throw invalidFields(toFieldErrors(result.error.issues, () => fieldsOf(eventsQuerySchema)));
}
