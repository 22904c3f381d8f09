import { setImmediate as nextTurn } from 'node:timers/promises';
import { webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { CHANNEL_FORMATS } from '@tocsin/contracts/vocabulary';
import { type Alert, linksOf } from '@tocsin/core/formats/alert';
import { createRenderer } from '@tocsin/core/formats/render-body';
import { type RenderTemplate, TemplateError } from '@tocsin/core/formats/template';
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Transaction } from '../database/open.ts';
import { arrayOf, epochMs, query, tableOf } from '../database/sql.ts';

/** Time to render before other work of the process continues. */
const TURN_MS = 10;
/** Bounds what one account renders in a transaction, because other accounts wait for it. A usual template takes less than a millisecond. */
const MAX_RENDERING_MS = 2_000;

const unrendered = z.object({
  id: z.string(),
  test: z.boolean(),
  payload: z.string(),
  format: z.enum(CHANNEL_FORMATS),
  template: z.string().nullable(),
  sealedRoutingKey: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  slug: z.string(),
  incidentId: z.string().nullable(),
  openedAt: z.number().nullable(),
});
type Unrendered = z.output<typeof unrendered>;

/**
 * Renders new deliveries in the format of their channel, in the transaction that makes them, so that every attempt sends the same body. If
 * a template fails, its delivery keeps the standard payload and says why.
 * @param ids deliveries with the standard payload, whose channels are locked @param publicUrl address of the dashboard, or null
 */
export async function renderDeliveries(
  tx: Transaction,
  ids: readonly string[],
  publicUrl: string | null,
): Promise<void> {
  if (ids.length === 0) return;
  const rows = await query(tx, unrendered)`
    select d.id, d.test, d.payload, c.format, c.template, case when c.format = 'pagerduty' then c.sealed_routing_key end as sealed_routing_key,
      a.slug, i.id as incident_id, ${epochMs(sql`i.opened_at`)} as opened_at, coalesce(i.labels, m.labels, '{}') as labels
    from deliveries d
    join channels c on c.id = d.channel_id and c.format <> 'standard'
    join accounts a on a.id = d.account_id
    left join monitors m on m.id = d.monitor_id
    left join status_changes s on s.id = d.status_change_id
    left join lateral (
      select * from incidents where monitor_id = d.monitor_id and opened_at <= d.timestamp order by opened_at desc limit 1) i
      on i.resolved_at is null or i.resolved_at >= coalesce(s.timestamp, d.timestamp)
    where d.id = any(${arrayOf('uuid', ids)})`;
  if (rows.length === 0) return;
  const renderers = new Map<string, RenderTemplate>();
  const spentMs = new Map<string, number>();
  const rendered = [];
  let turnEndsAt = performance.now() + TURN_MS;
  for (const row of rows) {
    if (performance.now() > turnEndsAt) {
      await nextTurn();
      turnEndsAt = performance.now() + TURN_MS;
    }
    const spent = spentMs.get(row.slug) ?? 0;
    const startedAt = performance.now();
    rendered.push({ ...row, ...render(row, renderers, publicUrl, spent > MAX_RENDERING_MS) });
    spentMs.set(row.slug, spent + performance.now() - startedAt);
  }
  await tx.execute(sql`
    update deliveries d set payload = r.payload, sealed_routing_key = r.sealed_routing_key, format_error = r.format_error
    from ${tableOf('r', rendered, {
      id: ['uuid', ({ id }) => id],
      payload: ['text', ({ payload }) => payload],
      sealed_routing_key: ['text', ({ sealedRoutingKey }) => sealedRoutingKey],
      format_error: ['text', ({ formatError }) => formatError],
    })}
    where d.id = r.id`);
}

function render(
  row: Unrendered,
  renderers: Map<string, RenderTemplate>,
  publicUrl: string | null,
  isTooSlow: boolean,
) {
  const { payload, format } = row;
  try {
    if (isTooSlow && format === 'custom') throw new TemplateError('templates take too long');
    const key = `${format} ${format === 'custom' ? row.template : ''}`;
    const renderer = renderers.get(key) ?? createRenderer(row);
    renderers.set(key, renderer);
    return { payload: renderer(toAlert(row, publicUrl)), formatError: null };
  } catch (error) {
    // Any other error would stop the deliveries of all accounts.
    return { payload, formatError: error instanceof Error ? error.message : String(error) };
  }
}

function toAlert(row: Unrendered, publicUrl: string | null): Alert {
  const { labels, incidentId, openedAt, slug } = row;
  const payload = webhookPayloadSchema.parse(JSON.parse(row.payload));
  const baseUrl = publicUrl && `${publicUrl}/${slug}`;
  return {
    payload,
    monitor: { labels },
    incident:
      incidentId === null || openedAt === null
        ? null
        : { id: incidentId, openedAt: new Date(openedAt).toISOString() },
    links: linksOf(baseUrl, row.test ? null : payload.monitorId, incidentId),
  };
}
