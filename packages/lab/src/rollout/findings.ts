import { isDeepStrictEqual } from 'node:util';
import { countSlots, type Span } from '../slots.ts';
import { webhookPayloadSchema, type WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import { expectedWebhooks, comparedFields, type CheckEvent } from '../oracle/model.ts';
import { z } from 'zod';
import type { DeployedSystem } from './deployed-system.ts';

/** A monitor of the load. */
export interface LoadedMonitor {
  readonly id: string;
  readonly region: string;
}

const OF_LOAD = `monitor_id in (select id from monitors where source = 'load')`;
const countsSchema = z.object({
  /** Check slots within the span without an event, and events beyond one per slot. */
  missed: z.number(),
  repeated: z.number(),
  /** The longest time from a slot to its event, in milliseconds. */
  latestMs: z.number().nullable(),
  /** Events that are DOWN. Without any, the span shows nothing about alerts. */
  down: z.number(),
  /** Events that are DOWN although their target responded with 200 or was not reached. */
  falseDown: z.number(),
});
const eventSchema = z.object({
  monitorId: z.string(),
  timestamp: z.string().transform((text) => new Date(text).toISOString()),
  status: z.enum(['UP', 'DOWN']),
  inconclusive: z.boolean(),
  latency: z.number(),
  errorReason: z.string().nullable(),
  region: z.string(),
});
type Owned<Item> = Item & { readonly monitorId: string };

export interface Findings extends z.infer<typeof countsSchema> {
  readonly seconds: number;
  /** Check slots within the span. */
  readonly slots: number;
  readonly webhooks: number;
  readonly repeatedWebhooks: number;
  /** Deliveries without a received request. */
  readonly lost: number;
  /** Monitors whose webhooks are not exactly those that follow from their events. */
  readonly inconsistent: readonly string[];
}

/** Compares the records of the targets, Postgres and the receiver within a span, when every webhook is delivered. */
export async function readFindings(
  system: DeployedSystem,
  monitors: readonly LoadedMonitor[],
  intervalMs: number,
  span: Span,
): Promise<Findings> {
  const [from, to] = [span.from, span.to].map((ms) => new Date(ms).toISOString());
  const ids = monitors.map(({ id }) => id);
  const slots = countSlots(ids, intervalMs, span);
  const [counts] = await system.query(
    countsSchema,
    `select ${slots} - count(distinct (monitor_id, slot)) as missed,
       count(*) - count(distinct (monitor_id, slot)) as repeated,
       round(max(extract(epoch from timestamp - slot)) * 1000) as "latestMs",
       count(*) filter (where status = 'DOWN') as down,
       count(*) filter (where status = 'DOWN' and error_reason is distinct from 'HTTP_500') as "falseDown"
     from events where slot >= '${from}' and slot < '${to}' and ${OF_LOAD}`,
  );
  if (counts === undefined) throw new Error('an aggregate has one row');
  const deliveries = await system.query(z.object({ id: z.string() }), 'select id from deliveries');
  const { webhooks } = await system.readOutsideLog();
  const payloads = new Map(
    webhooks.map(({ id, body }) => [id, webhookPayloadSchema.parse(JSON.parse(body))] as const),
  );
  // Events that change no status imply no webhook, so monitors that were never DOWN are left out.
  const events = await system.query(
    eventSchema,
    `select monitor_id as "monitorId", timestamp, status, inconclusive, latency_ms as latency, error_reason as "errorReason", region
     from events where monitor_id in (select monitor_id from events where status = 'DOWN') and ${OF_LOAD}
     order by timestamp`,
  );
  return {
    ...counts,
    seconds: (span.to - span.from) / 1_000,
    slots,
    webhooks: payloads.size,
    repeatedWebhooks: webhooks.length - payloads.size,
    lost: deliveries.filter(({ id }) => !payloads.has(id)).length,
    inconsistent: findInconsistent(monitors, events, [...payloads.values()]),
  };
}

function findInconsistent(
  monitors: readonly LoadedMonitor[],
  events: readonly Owned<CheckEvent>[],
  payloads: readonly WebhookPayload[],
): string[] {
  const concerned = new Set([...events, ...payloads].map(({ monitorId }) => monitorId));
  return monitors.flatMap(({ id, region }) => {
    if (!concerned.has(id)) return [];
    const isOwn = ({ monitorId }: Owned<object>): boolean => monitorId === id;
    const monitor = { failureThreshold: 1, regions: [region], maintenance: [] };
    const received = payloads.filter(isOwn).toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
    const expected = expectedWebhooks(monitor, events.filter(isOwn));
    return isDeepStrictEqual(received.map(comparedFields), expected) ? [] : [id];
  });
}

/**
 * Returns the problems, one sentence each.
 * @param maxMissedShare the share of slots that may be missed, because a crash can lose a running check
 */
export function problemsOf(findings: Findings, maxMissedShare = 0): string[] {
  const { slots, missed, repeated, down, falseDown, lost, inconsistent } = findings;
  const conditions: [isMet: boolean, problem: string][] = [
    [missed <= maxMissedShare * slots, `${missed} check slots were missed`],
    [repeated === 0, `${repeated} check slots have more than one event`],
    [falseDown === 0, `${falseDown} events are DOWN although their target was up`],
    [lost === 0, `${lost} webhooks were lost`],
    [
      inconsistent.length === 0,
      `${inconsistent.length} monitors have other webhooks than their events imply`,
    ],
    [slots > 0, 'no check slot was in the span'],
    [down > 0, 'no target failed in the span'],
  ];
  return conditions.flatMap(([isMet, problem]) => (isMet ? [] : [problem]));
}
