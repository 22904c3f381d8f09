import { setTimeout as wait } from 'node:timers/promises';
import { nextAttemptDelayMs } from '@tocsin/core/deliveries/retry-schedule';
import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { AttemptOutcome, AttemptRecord } from '@tocsin/db/deliveries/record-attempt';
import type { Logger } from '@tocsin/runtime/logger';
import { failSpan, SpanKind, withSpan, type Span } from '@tocsin/runtime/tracing';
import type { NotifierMetrics } from '../metrics.ts';
import type { WebhookAnswer, WebhookRequest } from './send-webhook.ts';

/** An outcome that Postgres does not take is tried again, but not beyond the attempt's lease (15 s). */
const RECORD_WITHIN_MS = 13_000;
const RECORD_RETRY_MS = 500;
/**
 * A service has 30 s to stop (design §4 "Jobs"), and an attempt takes up to 18 s until it is recorded: one that begins later might be
 * made, not recorded, and made again.
 */
const START_AFTER_STOP_MS = 5_000;

export interface DelivererOptions {
  readonly send: (request: WebhookRequest) => Promise<WebhookAnswer>;
  /** @returns why this attempt disabled the channel, or null */
  readonly recordAttempt: (attempt: AttemptRecord) => Promise<string | null>;
  readonly metrics: NotifierMetrics;
  readonly logger: Logger;
  /** Called after each recorded attempt: a later delivery may have waited for it. */
  readonly onRecorded: () => void;
  /** Milliseconds of any clock; default `performance.now`. */
  readonly now?: () => number;
}

/** Makes attempts: send, decide, record. Whoever claimed the delivery calls it (design §4 "Delivery"). */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #now: () => number;
  #startsUntil = Infinity;

  constructor(options: DelivererOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Makes one attempt of a claimed delivery, or none where it comes too late after `stop`. Never rejects: what is not recorded is
   * attempted again after its lease.
   */
  attempt(delivery: ClaimedDelivery): Promise<void> {
    if (this.#now() > this.#startsUntil) {
      this.#options.logger.info(
        'An attempt is left to whoever claims it after its lease: this process stops',
        {
          deliveryId: delivery.id,
        },
      );
      return Promise.resolve();
    }
    const attempt = this.#traced(delivery)
      .catch((error: unknown) => {
        this.#options.logger.error('An attempt broke off; it is made again after its lease', {
          deliveryId: delivery.id,
          error,
        });
      })
      .finally(() => this.#running.delete(attempt));
    this.#running.add(attempt);
    return attempt;
  }

  /** The process begins to stop: what was claimed by then, or is just being claimed, is begun within the next 5 s, or not at all. */
  stop(): void {
    this.#startsUntil = Math.min(this.#startsUntil, this.#now() + START_AFTER_STOP_MS);
  }

  /** Waits for the attempts under way. */
  async close(): Promise<void> {
    await Promise.all(this.#running);
  }

  #traced(delivery: ClaimedDelivery): Promise<void> {
    const attributes = {
      'tocsin.delivery.id': delivery.id,
      'tocsin.channel.id': delivery.channelId,
      'tocsin.monitor.id': delivery.monitorId,
      'tocsin.webhook.event': delivery.event,
      'tocsin.delivery.attempt': delivery.attemptCount + 1,
    };
    const options = { kind: SpanKind.CLIENT, parent: delivery.traceparent, attributes };
    return withSpan('deliver webhook', options, (span) => this.#attempt(delivery, span));
  }

  async #attempt(delivery: ClaimedDelivery, span: Span): Promise<void> {
    const { logger, metrics } = this.#options;
    const leaseEndsAt = this.#now() + RECORD_WITHIN_MS;
    const answer = await this.#options.send(delivery);
    const outcome = decideOutcome(delivery, answer);
    span.setAttributes({
      'http.response.status_code': answer.statusCode ?? undefined,
      'tocsin.delivery.outcome': outcome.kind,
    });
    // Without the text of the error, which may hold the receiver's address.
    if (answer.error !== null) failSpan(span, `answered ${answer.statusCode ?? 'nothing'}`);
    metrics.attempts.inc({ outcome: outcome.kind });
    metrics.attemptSeconds.observe(answer.durationMs / 1_000);
    const { id: deliveryId, leaseToken, channelId, monitorId, url, test } = delivery;
    const { statusCode, durationMs, error } = answer;
    logger.log(error === null ? 'info' : 'warn', 'Webhook attempt', {
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
    });
    const { retryAfterMs: _, ...logged } = answer;
    await this.#record({ ...logged, deliveryId, leaseToken, channelId, url, test, outcome }, leaseEndsAt);
  }

  async #record(attempt: AttemptRecord, leaseEndsAt: number): Promise<void> {
    const { recordAttempt, logger, metrics, onRecorded } = this.#options;
    const { deliveryId, channelId } = attempt;
    for (let tries = 1; ; tries += 1) {
      try {
        const disabledReason = await recordAttempt(attempt);
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
    logger.error('An attempt could not be recorded; it is made again after its lease', { deliveryId });
  }
}

/**
 * What an answer means for the delivery (design §4 "Delivery"). The retry schedule counts from the last redelivery; a test
 * event is never retried.
 */
export function decideOutcome(
  delivery: Pick<ClaimedDelivery, 'test' | 'roundAttemptCount' | 'elapsedMs'>,
  answer: Pick<WebhookAnswer, 'error' | 'statusCode' | 'retryAfterMs' | 'durationMs'>,
  random = Math.random(),
): AttemptOutcome {
  if (answer.error === null) return { kind: 'delivered' };
  if (delivery.test) return { kind: 'failed' };
  if (answer.statusCode === 410) return { kind: 'gone' };
  const delayMs = nextAttemptDelayMs({
    attempts: delivery.roundAttemptCount + 1,
    elapsedMs: delivery.elapsedMs + answer.durationMs,
    retryAfterMs: answer.retryAfterMs,
    random,
  });
  return delayMs === null ? { kind: 'failed' } : { kind: 'retry', delayMs };
}
