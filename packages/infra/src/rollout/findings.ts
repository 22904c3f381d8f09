import { isDeepStrictEqual } from 'node:util';
import { countSlots, type Span } from '@tocsin/bench/measure/slots';
import { type WebhookPayload, webhookPayloadSchema } from '@tocsin/contracts/deliveries/webhook';
import { expectedWebhooks, type ImplyingEvent, withoutStamps } from '@tocsin/lab/oracle/model';
import { z } from 'zod';
import type { DeployedSystem } from './deployed-system.ts';
import type { Load } from './load.ts';
import type { LoggedWebhook } from './outside.ts';

/** What the targets, Postgres and the receiver say about a time under load. */
export interface Findings {
  readonly seconds: number;
  /** Check slots within the span, those without an event, and events beyond one for each slot. */
  readonly slots: number;
  readonly missed: number;
  readonly repeated: number;
  /** The longest time from a slot to its event, ms. */
  readonly latestMs: number;
  /** Events that are DOWN; without any, the span shows nothing about alerts. */
  readonly down: number;
  /** Events that are DOWN although their target responded with 200 or was not reached. */
  readonly falseDown: number;
  readonly webhooks: number;
  readonly repeatedWebhooks: number;
  /** Deliveries of which no request arrived. */
  readonly lost: number;
  /** Monitors whose webhooks are not exactly those that follow from their events. */
  readonly inconsistent: readonly string[];
}

const countsSchema = z.tuple([
  z.object({
    events: z.number(),
    checked: z.number(),
    latestMs: z.number().nullable(),
    down: z.number(),
    falseDown: z.number(),
  }),
]);
const eventsSchema = z.array(
  z.object({
    monitorId: z.string(),
    timestamp: z.string().transform((text) => new Date(text).toISOString()),
    status: z.enum(['UP', 'DOWN']),
    latency: z.number(),
    errorReason: z.string().nullable(),
    region: z.string(),
  }),
);

/** Compares what happened within a span. To be called after `load.settle()`. */
async function readFindings(system: DeployedSystem, load: Load, span: Span): Promise<Findings> {
  const within = `slot >= '${new Date(span.from).toISOString()}' and slot < '${new Date(span.to).toISOString()}'`;
  const ofLoad = `monitor_id in (select id from monitors where source = 'load')`;
  const [counts] = countsSchema.parse(
    await system.query(
      `select count(*) as events, count(distinct (monitor_id, slot)) as checked,
         round(max(extract(epoch from timestamp - slot)) * 1000) as "latestMs",
         count(*) filter (where status = 'DOWN') as down,
         count(*) filter (where status = 'DOWN' and error_reason is distinct from 'HTTP_500') as "falseDown"
       from events where ${within} and ${ofLoad}`,
    ),
  );
  const slots = countSlots(
    load.monitors.map(({ id }) => id),
    load.options.interval * 1_000,
    span,
  );
  const deliveries = z
    .array(z.object({ id: z.string() }))
    .parse(await system.query('select id from deliveries'));
  const { webhooks } = await system.outside.readLog();
  const arrived = new Set(webhooks.map(({ id }) => id));
  return {
    seconds: (span.to - span.from) / 1_000,
    slots,
    missed: slots - counts.checked,
    repeated: counts.events - counts.checked,
    latestMs: counts.latestMs ?? 0,
    down: counts.down,
    falseDown: counts.falseDown,
    webhooks: arrived.size,
    repeatedWebhooks: webhooks.length - arrived.size,
    lost: deliveries.filter(({ id }) => !arrived.has(id)).length,
    inconsistent: findInconsistent(load, await readEvents(system), webhooks),
  };
}

async function readEvents(system: DeployedSystem): Promise<Map<string, ImplyingEvent[]>> {
  // Every other monitor has the same status all the time: events that change nothing imply no webhook.
  const rows = eventsSchema.parse(
    await system.query(
      `select monitor_id as "monitorId", timestamp, status, latency_ms as latency, error_reason as "errorReason", region
       from events where monitor_id in (select monitor_id from events where status = 'DOWN')
         and monitor_id in (select id from monitors where source = 'load') order by timestamp`,
    ),
  );
  const events = new Map<string, ImplyingEvent[]>();
  for (const { monitorId, ...event } of rows) {
    const known = events.get(monitorId) ?? [];
    known.push(event);
    events.set(monitorId, known);
  }
  return events;
}

function findInconsistent(
  load: Load,
  events: ReadonlyMap<string, readonly ImplyingEvent[]>,
  webhooks: readonly LoggedWebhook[],
): string[] {
  const received = new Map<string, Map<string, WebhookPayload>>();
  for (const { id, body } of webhooks) {
    const payload = webhookPayloadSchema.parse(JSON.parse(body));
    const known = received.get(payload.monitorId) ?? new Map<string, WebhookPayload>();
    received.set(payload.monitorId, known.set(id, payload));
  }
  return load.monitors
    .filter(({ id, region }) => {
      const payloads = [...(received.get(id)?.values() ?? [])].sort((a, b) =>
        a.timestamp < b.timestamp ? -1 : 1,
      );
      const monitor = { failureThreshold: 1, regions: [region], maintenance: [] };
      return !isDeepStrictEqual(payloads.map(withoutStamps), expectedWebhooks(monitor, events.get(id) ?? []));
    })
    .map(({ id }) => id);
}

/**
 * What is wrong, one sentence each.
 * @param maxMissedShare of the slots: after a crash, a slot that was being checked can be missed
 */
export function problemsOf(findings: Findings, maxMissedShare = 0): string[] {
  const counts: [number, string][] = [
    [findings.missed > maxMissedShare * findings.slots ? findings.missed : 0, 'check slots were missed'],
    [findings.repeated, 'check slots have more than one event'],
    [findings.falseDown, 'events are DOWN although their target was up'],
    [findings.lost, 'webhooks were lost'],
    [findings.inconsistent.length, 'monitors have other webhooks than follow from their events'],
  ];
  const problems = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  if (findings.slots === 0) problems.push('no check slot was in the span');
  if (findings.down === 0) problems.push('no target failed in the span');
  return problems;
}

/** The results of a test of a rollout: rows of a table, and problems, each of which fails it. */
export class Results {
  readonly rows: [string, string][] = [];
  readonly problems: string[] = [];

  add(what: string, result: string): void {
    this.rows.push([what, result]);
  }

  /** @param maxMissedShare see `problemsOf` */
  addFindings(name: string, findings: Findings, maxMissedShare?: number): void {
    const { slots, missed, repeated, latestMs, falseDown, webhooks, repeatedWebhooks, lost } = findings;
    this.add(
      `${name}: time under load, latest check`,
      `${seconds(findings.seconds * 1_000)}, ${seconds(latestMs)}`,
    );
    this.add(
      `${name}: check slots; missed; recorded twice; false DOWN`,
      list(slots, missed, repeated, falseDown),
    );
    this.add(`${name}: webhooks so far; repeated; lost`, list(webhooks, repeatedWebhooks, lost));
    this.problems.push(...problemsOf(findings, maxMissedShare).map((problem) => `${name}: ${problem}`));
  }

  /** A table in Markdown, and a line for each problem. */
  toString(): string {
    const rows = [['what', 'result'], ['---', '---'], ...this.rows].map(
      (cells) => `| ${cells.join(' | ')} |`,
    );
    return [...rows, ...this.problems.map((problem) => `PROBLEM: ${problem}`)].join('\n');
  }
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function list(...numbers: number[]): string {
  return numbers.map((number) => number.toLocaleString('en-US')).join('; ');
}

/**
 * Disturbs a system under load, with monitors that go up and down, and compares what its targets, Postgres and the receiver saw.
 * Resolves when every monitor is UP again and every webhook is delivered.
 */
export async function disturbUnderLoad(
  system: DeployedSystem,
  load: Load,
  disturb: () => Promise<void>,
): Promise<Findings> {
  await load.flap();
  const from = Date.now();
  await load.checkOnce();
  await disturb();
  await load.checkOnce();
  // Slots of the last interval may still be under way.
  const to = Date.now() - load.options.interval * 1_000;
  await load.settle();
  return readFindings(system, load, { from, to });
}
