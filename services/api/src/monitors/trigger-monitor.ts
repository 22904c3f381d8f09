import { AppError } from '@tocsin/contracts/errors';
import type { Event } from '@tocsin/contracts/monitors/events';
import { isDataError } from '@tocsin/db/database/errors';
import { findEvent } from '@tocsin/db/events/read-events';
import { toInput, UnreadableMonitorError } from '@tocsin/db/monitors/monitor-codec';
import { findMonitorRow, monitorNotFound } from '@tocsin/db/monitors/monitor-row';
import type { MonitorRow } from '@tocsin/db/monitors/table';
import { createTrigger, findTriggerEvent } from '@tocsin/db/triggers/triggers';
import type { RequestHandler, Response } from 'express';
import type { ApiContext } from '../context.ts';
import { unavailable } from '../http/errors.ts';
import { bodyOf } from '../http/json-body.ts';
import { callerOf } from '../http/request-state.ts';
import { waitFor } from '../http/wait-for.ts';
import { monitorIdOf } from './monitor-id.ts';
import { parseTriggerBody } from './trigger-body.ts';

/** No checker starts a triggered check later than this. */
const START_WITHIN_MS = 5_000;

/** Specification "6. Trigger an immediate check". */
export function triggerMonitorHandler(context: ApiContext): RequestHandler {
  return async function answerTrigger(req, res) {
    const caller = callerOf(res);
    const { accountId } = caller;
    const monitor = await findMonitorRow(context.db, accountId, monitorIdOf(req));
    const url = parseTriggerBody(bodyOf(req));
    if (monitor.type !== 'HTTP') {
      throw new AppError(
        'not_triggerable',
        `Only monitors of type HTTP can be triggered, not ${monitor.type}.`,
      );
    }
    requireReadable(context, monitor);
    const end = context.triggerLimits.admit(caller, longestMs(monitor));
    let isOver = true;
    try {
      const triggerId = await requestCheck(context, monitor, url);
      const event = await awaitEvent(context, monitor, triggerId, res);
      if (event === null) isOver = false;
      else res.json({ event });
    } finally {
      // A client that leaves early does not end the check: it counts for as long as it may take.
      if (isOver) end();
    }
  };
}

/** No checker could check what no key opens: that is said at once. @throws AppError conflict */
function requireReadable({ secrets }: ApiContext, monitor: MonitorRow): void {
  try {
    toInput(monitor, secrets);
  } catch (error) {
    if (!(error instanceof UnreadableMonitorError)) throw error;
    throw new AppError(
      'conflict',
      'No key of this server opens the header values or the body of this monitor, so it cannot be checked. Restore the key in SECRETS_KEY, or update the monitor with its headers and body.',
      { cause: error },
    );
  }
}

/** How long a trigger takes at most, from the request to its event. */
function longestMs({ timeoutSeconds }: MonitorRow): number {
  return timeoutSeconds * 1_000 + START_WITHIN_MS;
}

/** Writes the trigger down and tells a checker. @returns the trigger's id */
async function requestCheck(
  { db, producers }: ApiContext,
  monitor: MonitorRow,
  url: string | null,
): Promise<string> {
  const trigger = await createTrigger(db, monitor, url, START_WITHIN_MS).catch(async (error: unknown) => {
    // Deleted just now, if the trigger's monitor is not there to refer to.
    if (isDataError(error)) await findMonitorRow(db, monitor.accountId, monitor.id);
    throw error;
  });
  try {
    await producers.addTrigger(trigger.region, { triggerId: trigger.id });
  } catch (error) {
    throw unavailable('No checker can be told to run the check now. Try again soon.', error);
  }
  return trigger.id;
}

/** The event that the check becomes; null where the client has gone. @throws AppError where there will be none */
async function awaitEvent(
  { db, shutdown }: ApiContext,
  monitor: MonitorRow,
  triggerId: string,
  res: Response,
): Promise<Event | null> {
  const timestamp = await waitFor({
    find: () => findTriggerEvent(db, triggerId),
    forMs: longestMs(monitor),
    isWanted: () => !res.destroyed && !shutdown.aborted,
  });
  if (timestamp instanceof Date) {
    const event = await findEvent(db, monitor.accountId, monitor.id, timestamp);
    if (event !== null) return event;
  }
  if (timestamp !== null) throw monitorNotFound();
  if (res.destroyed) return null;
  if (shutdown.aborted) throw unavailable('This server is stopping. Try again soon.');
  throw new AppError('check_not_answered', noAnswer(monitor));
}

function noAnswer({ regions, timeoutSeconds }: MonitorRow): string {
  const region = regions[0] === undefined ? 'the default region' : `region ${regions[0]}`;
  return `No checker of ${region} gave a result within ${timeoutSeconds + START_WITHIN_MS / 1_000} seconds.`;
}
