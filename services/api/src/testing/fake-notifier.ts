import { randomUUID } from 'node:crypto';
import type { OpenDatabase } from '@tocsin/db/database/open';
import { recordAttempt } from '@tocsin/db/deliveries/record-attempt';

interface Leased {
  readonly channelId: string;
  readonly url: string;
  readonly test: boolean;
  readonly attemptLimit: number;
}

/** Records an attempt for each of these deliveries that is pending, without sending anything. */
export async function attempt(
  { database: { pool, db } }: { readonly database: OpenDatabase },
  ids: readonly string[],
  statusCode: number,
): Promise<void> {
  for (const deliveryId of ids) {
    const leaseToken = randomUUID();
    const { rows } = await pool.query<Leased>(
      `update deliveries d set lease_token = $2, leased_until = now() + interval '15 seconds'
       from channels c where d.id = $1 and d.state = 'pending' and c.id = d.channel_id
       returning c.id as "channelId", c.url, d.test, c.attempt_limit as "attemptLimit"`,
      [deliveryId, leaseToken],
    );
    const [leased] = rows;
    if (!leased) continue;
    const delivered = statusCode < 300;
    await recordAttempt(db, {
      ...leased,
      deliveryId,
      leaseToken,
      startedAt: new Date(),
      durationMs: 12,
      statusCode,
      error: delivered ? null : `responded with ${statusCode}`,
      responseExcerpt: 'thanks',
      outcome: { kind: delivered ? 'delivered' : 'failed' },
      nextAttemptLimit: leased.attemptLimit,
      pauseMs: 0,
    });
  }
}
