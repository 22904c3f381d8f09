import { AppError } from '@tocsin/contracts/errors';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { monitorRoutes } from '@tocsin/contracts/monitors/routes';
import { MAX_PROOF_WAIT_MS } from '@tocsin/core/status/apply-check';
import { requireSource } from '@tocsin/db/audit-log/actor';
import { isDataError, notFound } from '@tocsin/db/database/errors';
import { findEvent } from '@tocsin/db/events/read-events';
import { readInput } from '@tocsin/db/monitors/monitor-codec';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import type { MonitorRow } from '@tocsin/db/monitors/table';
import { createTrigger, findTriggerEvent, hasTriggerStarted } from '@tocsin/db/triggers/triggers';
import { FairShares } from '@tocsin/runtime/fair-shares';
import type { Response } from 'express';
import type { ApiContext } from '../context.ts';
import { closedSignal } from '../http/closed-signal.ts';
import { stopping, unavailable } from '../http/errors.ts';
import { type ApiRequest, SENT } from '../http/implement.ts';
import { waitFor } from '../http/wait-for.ts';

/** Checkers drop a triggered check that would start later. */
export const START_WITHIN_MS = 5_000;
/** Triggered checks in progress. Each queries Postgres for its result several times a second. */
const MAX_TRIGGERED = 500;
/** Triggers of one account that wait, and how long. */
const MAX_WAITING = 1_000;
const MAX_WAIT_MS = 60_000;

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
  return runTriggered(context, { caller, res }, maxDurationMs(monitor), async () => {
    const triggerId = await requestCheck(context, monitor, body.url);
    const event = await awaitEvent(context, monitor, triggerId, res);
    return event === null ? SENT : { event };
  });
}

export function createTriggerShares(shutdown: AbortSignal, capacity: number = MAX_TRIGGERED): FairShares {
  const shares = new FairShares(capacity, { maxWaiting: MAX_WAITING });
  shutdown.addEventListener('abort', () => shares.refuseWaiting());
  return shares;
}

/**
 * Runs a triggered check when its account has a share for it. The check outlasts a client that disconnects, and then counts for
 * `maxDurationMs`.
 * @throws AppError unavailable if none becomes free, or another account takes it
 */
export async function runTriggered<Result>(
  { triggered, shutdown }: ApiContext,
  { caller, res }: Pick<ApiRequest<typeof monitorRoutes.triggerMonitor>, 'caller' | 'res'>,
  maxDurationMs: number,
  check: () => Promise<Result | typeof SENT>,
): Promise<Result | typeof SENT> {
  const signal = closedSignal(res);
  let refuse: (() => void) | undefined;
  const refused = new Promise<never>((_resolve, reject) => {
    refuse = () =>
      reject(unavailable('Other accounts need the capacity for triggered checks. Try again later.'));
  });
  const release = await triggered.acquire(caller.accountId, {
    withinMs: MAX_WAIT_MS,
    signal,
    line: caller.apiKeyId ?? caller.sessionId,
    onRevoke: () => {
      refuse?.();
      return true;
    },
  });
  if (release === null) {
    if (signal.aborted) return SENT;
    if (shutdown.aborted) throw stopping();
    throw unavailable('Too many triggered checks are in progress. Try again later.');
  }
  const abandoned = setTimeout(release, maxDurationMs).unref();
  return Promise.race([check(), refused]).finally(() => {
    if (signal.aborted) return;
    clearTimeout(abandoned);
    release();
  });
}

/** Queues a triggered check for a checker. @throws AppError unavailable */
export async function queueTrigger(
  { producers }: ApiContext,
  region: string,
  triggerId: string,
): Promise<void> {
  try {
    await producers.addTrigger(region, { triggerId });
  } catch (error) {
    throw unavailable('The check could not be queued. Try again later.', error);
  }
}

export function notAnswered(region: string, waitedMs: number): AppError {
  const detail = `No checker or agent of ${region} returned a result within ${waitedMs / 1_000} seconds.`;
  return new AppError('check_not_answered', detail);
}

/** @throws AppError conflict if no key decrypts the monitor */
function requireReadable({ secrets }: ApiContext, monitor: MonitorRow): void {
  const { error } = readInput(monitor, secrets);
  if (error === null) return;
  throw new AppError(
    'conflict',
    'No key on this server can decrypt the header values, the body or the TLS key of this monitor, so it cannot be checked. Restore the key in SECRETS_KEY, or update the monitor with its headers, body and tls.',
    { cause: error },
  );
}

/** Maximum time from a request to its event, in milliseconds, unless the result waits for proof of the network. */
function maxDurationMs({ timeoutSeconds }: MonitorRow): number {
  return timeoutSeconds * 1_000 + START_WITHIN_MS;
}

/** Stores a trigger and queues it for a checker. @returns its id */
async function requestCheck(context: ApiContext, monitor: MonitorRow, url: string | null): Promise<string> {
  const { db } = context;
  const trigger = await createTrigger(db, monitor, url, START_WITHIN_MS).catch(async (error: unknown) => {
    // The monitor may have been deleted meanwhile.
    if (isDataError(error)) await findMonitorRow(db, monitor.accountId, monitor.id);
    throw error;
  });
  await queueTrigger(context, trigger.region, trigger.id);
  return trigger.id;
}

/** Waits for the event of a check. Resolves to null if the client has disconnected. @throws AppError if there will be none */
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
  const [region] = monitor.regions;
  throw notAnswered(region === undefined ? 'the default region' : `region ${region}`, waitedMs);
}
