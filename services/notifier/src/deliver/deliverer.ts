import { setTimeout as wait } from 'node:timers/promises';
import { nextAttemptLimit } from '@tocsin/core/deliveries/attempt-limit';
import { channelPauseMs, nextAttemptDelayMs } from '@tocsin/core/deliveries/retry-schedule';
import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { AttemptOutcome, AttemptRecord } from '@tocsin/db/deliveries/record-attempt';
import { batchCalls } from '@tocsin/runtime/batch-calls';
import type { Logger } from '@tocsin/runtime/logger';
import { failSpan, SpanKind, withSpan, type Span } from '@tocsin/runtime/tracing';
import type { NotifierMetrics } from '../metrics.ts';
import type { WebhookResult, WebhookRequest } from './send-webhook.ts';

/** Shorter than the lease of an attempt (15 s). */
const RECORD_WITHIN_MS = 13_000;
const RECORD_RETRY_MS = 500;
/** Successful attempts that end at about the same time are recorded together. */
const BATCHES = { maxConcurrent: 1, maxSize: 200, gatherMs: 10 };
/** Each failure has its own transaction. More at a time would occupy all connections, and claims would wait for them. */
const FAILURES = { maxConcurrent: 4, maxSize: 1 };
/** A service has 30 s to stop, and recording an attempt takes up to 18 s. A later attempt might be sent but not recorded. */
const START_AFTER_STOP_MS = 5_000;

export interface DelivererOptions {
  readonly send: (request: WebhookRequest) => Promise<WebhookResult>;
  /** Records an attempt. @returns why this attempt disabled the channel, or null */
  readonly recordAttempt: (attempt: AttemptRecord) => Promise<string | null>;
  /** Records successful attempts, all or none. */
  readonly recordDelivered: (attempts: readonly AttemptRecord[]) => Promise<void>;
  /** Called after each attempt, with null if there was no response. Never rejects. */
  readonly watchOutages: (channelId: string, statusCode: number | null) => Promise<void>;
  readonly metrics: NotifierMetrics;
  readonly logger: Logger;
  /** Called after each record, because a later delivery may have waited for it. */
  readonly onRecorded: () => void;
  readonly now?: () => number;
}

export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #now: () => number;
  readonly #recordDelivered: (attempt: AttemptRecord) => Promise<void>;
  readonly #recordAttempt: (attempt: AttemptRecord) => Promise<string | null>;
  #startsUntil = Infinity;

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const record = async (attempts: readonly AttemptRecord[]): Promise<void[]> => {
      await options.recordDelivered(attempts);
      return [];
    };
    this.#recordDelivered = batchCalls(record, BATCHES);
    this.#recordAttempt = batchCalls(
      (attempts) => Promise.all(attempts.map((attempt) => options.recordAttempt(attempt))),
      FAILURES,
    );
  }

  /**
   * Makes one attempt, or none if it is too late after `stop`. Never rejects, because an unrecorded attempt is repeated after its lease.
   * @param onSuccess called before a successful attempt is recorded. A failed one is recorded first, because it may change its channel
   */
  attempt(delivery: ClaimedDelivery, onSuccess: () => void = () => undefined): Promise<void> {
    const { logger } = this.#options;
    const { id: deliveryId } = delivery;
    if (this.#now() > this.#startsUntil) {
      logger.info('This process is stopping, so another one makes the attempt after its lease', {
        deliveryId,
      });
      return Promise.resolve();
    }
    const attributes = {
      'tocsin.delivery.id': deliveryId,
      'tocsin.channel.id': delivery.channelId,
      'tocsin.monitor.id': delivery.monitorId,
      'tocsin.webhook.event': delivery.event,
      'tocsin.delivery.attempt': delivery.attemptCount + 1,
    };
    const options = { kind: SpanKind.CLIENT, parent: delivery.traceparent, attributes };
    const attempt = withSpan('deliver webhook', options, (span) => this.#attempt(delivery, span, onSuccess))
      .catch((error: unknown) => {
        logger.error('An attempt failed unexpectedly. It is repeated when its lease ends.', {
          deliveryId,
          error,
        });
      })
      .finally(() => this.#running.delete(attempt));
    this.#running.add(attempt);
    return attempt;
  }

  /** Attempts start within the next 5 s or not at all. */
  stop(): void {
    this.#startsUntil = Math.min(this.#startsUntil, this.#now() + START_AFTER_STOP_MS);
  }

  async close(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #attempt(delivery: ClaimedDelivery, span: Span, onSuccess: () => void): Promise<void> {
    const { send, watchOutages, logger, metrics } = this.#options;
    const leaseEndsAt = this.#now() + RECORD_WITHIN_MS;
    const { retryAfterMs, ...result } = await send(delivery);
    const { statusCode, durationMs, error } = result;
    if (error === null) onSuccess();
    const outcome = decideOutcome(delivery, { ...result, retryAfterMs });
    span.setAttributes({
      'http.response.status_code': statusCode ?? undefined,
      'tocsin.delivery.outcome': outcome.kind,
    });
    // Omits the text of the error, which may contain the receiver's address.
    if (error !== null) failSpan(span, statusCode === null ? 'no response' : `status ${statusCode}`);
    metrics.attempts.inc({ outcome: outcome.kind });
    metrics.attemptSeconds.observe(durationMs / 1_000);
    const { id: deliveryId, leaseToken, channelId, monitorId, url, test, formatError } = delivery;
    logger.log(error === null && formatError === null ? 'info' : 'warn', 'Webhook attempt', {
      deliveryId,
      channelId,
      monitorId,
      event: delivery.event,
      ...(test && { test }),
      attempt: delivery.attemptCount + 1,
      outcome: outcome.kind,
      statusCode,
      durationMs,
      error,
      ...(formatError !== null && { formatError }),
    });
    const { attemptLimit } = delivery;
    const limits = { attemptLimit, nextAttemptLimit: nextAttemptLimit({ ...delivery, ...result }) };
    const attempt = { ...result, deliveryId, leaseToken, channelId, url, test, outcome, ...limits };
    await Promise.all([
      this.#record({ ...attempt, pauseMs: channelPauseMs(retryAfterMs) }, leaseEndsAt),
      watchOutages(channelId, statusCode),
    ]);
  }

  async #record(attempt: AttemptRecord, leaseEndsAt: number): Promise<void> {
    const { logger, metrics, onRecorded } = this.#options;
    const { deliveryId, channelId, outcome } = attempt;
    for (let tries = 1; ; tries += 1) {
      try {
        // If a batch fails, each attempt is recorded on its own.
        const isBatched = outcome.kind === 'delivered' && tries === 1;
        const disabledReason = isBatched
          ? await this.#recordDelivered(attempt).then(() => null)
          : await this.#recordAttempt(attempt);
        if (disabledReason !== null) {
          metrics.channelsDisabled.inc();
          logger.error('Channel disabled', { channelId, reason: disabledReason });
        }
        onRecorded();
        return;
      } catch (error) {
        logger.warn('Recording an attempt failed', { deliveryId, tries, error });
      }
      if (this.#now() + RECORD_RETRY_MS > leaseEndsAt) break;
      await wait(RECORD_RETRY_MS);
    }
    logger.error('Could not record an attempt. It is repeated when its lease ends.', { deliveryId });
  }
}

/** Decides what follows an attempt. The retry schedule counts from the last redelivery, and test events are never retried. */
export function decideOutcome(
  delivery: Pick<ClaimedDelivery, 'test' | 'roundAttemptCount' | 'elapsedMs'>,
  result: Pick<WebhookResult, 'error' | 'statusCode' | 'retryAfterMs' | 'durationMs'>,
  random = Math.random(),
): AttemptOutcome {
  if (result.error === null) return { kind: 'delivered' };
  if (delivery.test) return { kind: 'failed' };
  if (result.statusCode === 410) return { kind: 'gone' };
  const delayMs = nextAttemptDelayMs({
    attempts: delivery.roundAttemptCount + 1,
    elapsedMs: delivery.elapsedMs + result.durationMs,
    retryAfterMs: result.retryAfterMs,
    random,
  });
  return delayMs === null ? { kind: 'failed' } : { kind: 'retry', delayMs };
}
