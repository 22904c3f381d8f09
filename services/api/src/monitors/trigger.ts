import { AppError } from '@tocsin/contracts/errors';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { monitorRoutes } from '@tocsin/contracts/monitors/routes';
import { MAX_PROOF_WAIT_MS } from '@tocsin/core/status/apply-check';
import { requireSource } from '@tocsin/db/audit-log/actor';
import { isDataError, notFound } from '@tocsin/db/database/errors';
import { findEvent } from '@tocsin/db/events/read-events';
import { toInput, UnreadableMonitorError } from '@tocsin/db/monitors/monitor-codec';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import type { MonitorRow } from '@tocsin/db/monitors/table';
import { createTrigger, findTriggerEvent, hasTriggerStarted } from '@tocsin/db/triggers/triggers';
import type { Response } from 'express';
import type { ApiContext } from '../context.ts';
import { stopping, unavailable } from '../http/errors.ts';
import { type ApiRequest, SENT } from '../http/implement.ts';
import { waitFor } from '../http/wait-for.ts';

/** A checker that would start a triggered check later than this drops it. */
export const START_WITHIN_MS = 5_000;

/** Checks a monitor at once and waits for the event. */
export async function triggerCheck(
  context: ApiContext,
  { caller, id, body, res }: ApiRequest<typeof monitorRoutes.triggerMonitor>,
): Promise<{ event: Event } | typeof SENT> {
  const monitor = await findMonitorRow(context.db, caller.accountId, id);
  // The check sends the monitor's headers and body to the given URL.
  if (body.url !== null) requireSource(caller, monitor.source);
  if (monitor.type !== 'HTTP') {
    throw new AppError(
      'not_triggerable',
      `Only monitors of type HTTP can be triggered, not ${monitor.type}.`,
    );
  }
  requireReadable(context, monitor);
  const release = context.triggerLimits.acquire(caller, maxDurationMs(monitor));
  let isOver = true;
  try {
    const triggerId = await requestCheck(context, monitor, body.url);
    const event = await awaitEvent(context, monitor, triggerId, res);
    if (event !== null) return { event };
    isOver = false;
    return SENT;
  } finally {
    // A client that disconnects does not end the check: it counts for as long as it may take.
    if (isOver) release();
  }
}

/** @throws AppError conflict if no key decrypts the monitor */
function requireReadable({ secrets }: ApiContext, monitor: MonitorRow): void {
  try {
    toInput(monitor, secrets);
  } catch (error) {
    if (!(error instanceof UnreadableMonitorError)) throw error;
    throw new AppError(
      'conflict',
      'No key of this server decrypts the header values or the body of this monitor, so it cannot be checked. Restore the key in SECRETS_KEY, or update the monitor with its headers and body.',
      { cause: error },
    );
  }
}

/** The maximum time from a request to its event, in milliseconds, unless the result waits for proof of the network. */
function maxDurationMs({ timeoutSeconds }: MonitorRow): number {
  return timeoutSeconds * 1_000 + START_WITHIN_MS;
}

/** Stores a trigger and queues it for a checker. @returns its id */
async function requestCheck(
  { db, producers }: ApiContext,
  monitor: MonitorRow,
  url: string | null,
): Promise<string> {
  const trigger = await createTrigger(db, monitor, url, START_WITHIN_MS).catch(async (error: unknown) => {
    // The monitor may have been deleted meanwhile.
    if (isDataError(error)) await findMonitorRow(db, monitor.accountId, monitor.id);
    throw error;
  });
  try {
    await producers.addTrigger(trigger.region, { triggerId: trigger.id });
  } catch (error) {
    throw unavailable('The check could not be queued. Try again later.', error);
  }
  return trigger.id;
}

/** Waits for the event of a check; null if the client has disconnected. @throws AppError if there will be none */
async function awaitEvent(
  { db, shutdown }: ApiContext,
  monitor: MonitorRow,
  triggerId: string,
  res: Response,
): Promise<Event | null> {
  const find = (): ReturnType<typeof findTriggerEvent> => findTriggerEvent(db, triggerId);
  const isWanted = (): boolean => !res.destroyed && !shutdown.aborted;
  let waitedMs = maxDurationMs(monitor);
  let timestamp = await waitFor({ find, forMs: waitedMs, isWanted });
  if (timestamp === null && isWanted() && (await hasTriggerStarted(db, triggerId))) {
    waitedMs += MAX_PROOF_WAIT_MS;
    timestamp = await waitFor({ find, forMs: MAX_PROOF_WAIT_MS, isWanted });
  }
  if (timestamp instanceof Date) {
    const event = await findEvent(db, monitor.accountId, monitor.id, timestamp);
    if (event !== null) return event;
  }
  if (timestamp !== null) throw notFound('monitor');
  if (res.destroyed) return null;
  if (shutdown.aborted) throw stopping();
  throw new AppError('check_not_answered', noResult(monitor, waitedMs));
}

function noResult({ regions }: MonitorRow, waitedMs: number): string {
  const region = regions[0] === undefined ? 'the default region' : `region ${regions[0]}`;
  return `No checker of ${region} returned a result within ${waitedMs / 1_000} seconds.`;
}
