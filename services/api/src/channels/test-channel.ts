import { WEBHOOK_DEADLINE_MS } from '@tocsin/contracts/deliveries/webhook';
import { AppError } from '@tocsin/contracts/errors';
import { channelNotFound } from '@tocsin/db/channels/read-channels';
import {
  createTestDelivery,
  findTestOutcome,
  giveUpTestDelivery,
} from '@tocsin/db/deliveries/test-deliveries';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { hintDeliveries } from '../deliveries/hint-deliveries.ts';
import { unavailable } from '../http/errors.ts';
import { pathIdOf } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { waitFor } from '../http/wait-for.ts';

/** A notifier starts a test event well within this, and records its outcome. */
const START_WITHIN_MS = 5_000;
const PATIENCE_MS = START_WITHIN_MS + WEBHOOK_DEADLINE_MS;

/** Sends a test event and answers with what its one attempt came to (specification "Delivery rules" 7). */
export function testChannelHandler(context: ApiContext): RequestHandler {
  const { db, shutdown, settings } = context;
  return async function answerTest(req, res) {
    const { accountId } = callerOf(res);
    const id = await createTestDelivery(db, accountId, pathIdOf(req), settings.defaultRegion);
    hintDeliveries(context, [id]);
    const outcome = await waitFor({
      find: () => findTestOutcome(db, id),
      forMs: PATIENCE_MS,
      isWanted: () => !res.destroyed && !shutdown.aborted,
    });
    if (outcome) {
      res.json(outcome);
      return;
    }
    if (outcome === undefined) throw channelNotFound();
    await giveUpTestDelivery(db, id);
    if (res.destroyed) return;
    if (shutdown.aborted) throw unavailable('This server is stopping. Try again soon.');
    throw new AppError(
      'delivery_not_attempted',
      `No notifier sent it within ${PATIENCE_MS / 1_000} seconds.`,
    );
  };
}
