import type { Database } from '@tocsin/db/database/open';
import type { LateRegions } from '@tocsin/db/regions/late-regions';
import {
  claimRegionAlert,
  endRegionAlert,
  MAX_ALERT_ATTEMPTS,
  noteLateRegions,
  type RegionAlert,
} from '@tocsin/db/regions/region-alerts';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop, type Loop } from '@tocsin/runtime/loop';
import type { WebhookRequest, WebhookResult } from './deliver/send-webhook.ts';

const EVERY_MS = 5_000;
/** Messages per round, sent one after the other. */
const MAX_SENT = 20;

export interface RegionAlertsOptions {
  readonly db: Database;
  readonly listLate: () => Promise<LateRegions>;
  readonly url: string;
  readonly secret: string;
  readonly send: (request: WebhookRequest) => Promise<WebhookResult>;
  readonly logger: Logger;
}

/**
 * Tells the operators when a region becomes late and when it recovers (docs/concepts/regions.md). Every notifier runs this. Pending messages
 * are in Postgres, so each is sent at least once.
 */
export async function alertOperators(options: RegionAlertsOptions): Promise<void> {
  const { db, listLate, url, secret, send, logger } = options;
  await noteLateRegions(db, await listLate());
  for (let count = 0; count < MAX_SENT; count += 1) {
    const alert = await claimRegionAlert(db);
    if (alert === null) return;
    const { region, messageId, attempts, claimedAt } = alert;
    const { error } = await send({
      id: messageId,
      accountId: 'operators',
      channelId: 'operators',
      url,
      payload: JSON.stringify(payloadOf(alert)),
      secrets: [secret],
      headers: {},
      routingKey: null,
      claimedAt: new Date(claimedAt),
    });
    if (error !== null) {
      const outcome = attempts < MAX_ALERT_ATTEMPTS ? 'It will be retried' : 'It was abandoned';
      logger.error(`Could not send a webhook to the operators. ${outcome}`, { region, attempts, error });
    }
    if (error === null || attempts >= MAX_ALERT_ATTEMPTS) await endRegionAlert(db, alert);
  }
}

/** The payload names no account and no monitor, because it concerns the installation. */
function payloadOf({ region, lateSince, recoveredAt }: RegionAlert): object {
  return {
    event: recoveredAt === null ? 'region.late' : 'region.recovered',
    region,
    lateSince: new Date(lateSince).toISOString(),
    recoveredAt: recoveredAt === null ? null : new Date(recoveredAt).toISOString(),
  };
}

export function startRegionAlerts(options: RegionAlertsOptions): Loop {
  return createLoop({
    name: 'Alerting the operators',
    everyMs: EVERY_MS,
    logger: options.logger,
    work: () => alertOperators(options),
  });
}
