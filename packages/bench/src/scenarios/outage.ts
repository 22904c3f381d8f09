import { setTimeout as wait } from 'node:timers/promises';
import { MAX_ATTEMPT_LIMIT } from '@tocsin/core/deliveries/attempt-limit';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { checkOf, failureOf } from '@tocsin/db/testing/check-record';
import { accounts } from '@tocsin/db/users/table';
import { until } from '@tocsin/embedded/testing/until';
import { insertMonitors } from '@tocsin/lab/monitors';
import type { System } from '@tocsin/lab/system';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStore } from '@tocsin/queue/open-queue-store';
import { withFloor, type Floor } from '../measure/floor.ts';
import { distributionOf } from '../measure/percentiles.ts';
import { cpuMicros, measureUsage, type MeasuredWindow } from '../measure/usage.ts';
import type { WebhookArrival } from '../processes/target.ts';
import { atMost, figure, type Figure } from '../report/figure.ts';
import { openStage, type Receiver, type Stage } from '../stage.ts';
import { exampleUrl } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';

/** Status changes that a checker records together. */
const BATCH = 500;
/** Another account's alerts, spread evenly. */
const OTHER_MONITORS = 200;
const OTHER_PER_SECOND = 20;
const WARM_UP_SECONDS = 5;
const USUAL_SECONDS = 20;
const WITHIN_MS = 300_000;

type RecordChecks = (ids: readonly string[], status: 'UP' | 'DOWN') => Promise<void>;

export interface OutagePlan {
  readonly monitors: number;
  /** Each gets the alerts of every monitor. */
  readonly channels: number;
  /** Response time of the receiver that gets the alerts. */
  readonly responseMs: number;
  /** Upper limits of figures, by key. */
  readonly maximums: Readonly<Record<string, number>>;
}

/** All monitors of an account go down at once, while another account has its usual alerts. */
export async function runOutage(bench: Bench, plan: OutagePlan): Promise<Measurement> {
  const { channels, responseMs, maximums } = plan;
  const { monitors = plan.monitors, seconds = USUAL_SECONDS } = bench.options;
  const webhooks = monitors * channels;
  const stage = await openStage(bench, { receiverMs: responseMs });
  const { system, receiver: slow, otherReceiver: fast } = stage;
  const outage = await addMonitors(stage, system.context.accountId, monitors, slow, channels);
  const others = await addMonitors(stage, await addAccount(system), OTHER_MONITORS, fast, 1);
  await stage.startService('notifier');
  const record = openRecorder(bench, system);
  const trickle = startTrickle(others, record);
  await wait(WARM_UP_SECONDS * 1_000);
  bench.say(`Measuring the alerts of the other account for ${seconds} s …`);
  await take(fast);
  await wait(seconds * 1_000);
  const usual = await take(fast);
  const { url, ca } = slow;
  const pace = { concurrency: MAX_ATTEMPT_LIMIT };
  const client = { kind: 'webhook', url, ca, requests: webhooks, warmUp: 0, pace } as const;
  const { result, floor } = await withFloor(bench, client, async () => {
    await Promise.all([slow, fast].map(take));
    bench.say(`${monitors} monitors go down …`);
    const window = await measureUsage(stage, () => breakDown(outage, slow, record, webhooks));
    const [during, arrivals] = await Promise.all([fast, slow].map(take));
    await trickle.stop();
    return { window, during: during ?? [], arrivals: arrivals ?? [] };
  });
  const { window, during, arrivals } = result;
  const ratio = lagsOf(during).p99 / lagsOf(usual).p99;
  return {
    settings: { monitors, channels, attempts: MAX_ATTEMPT_LIMIT, response: `${responseMs} ms` },
    figures: [
      ...outageFigures(window, arrivals, floor),
      ...otherFigures('usual', 'other account, recorded to webhook, usually', usual),
      ...otherFigures('during', '  during the outage', during),
      figure('other-ratio', '  p99 during the outage ÷ usual', ratio, '×'),
    ].map(({ key, label, value, unit }) => figure(key, label, value, unit, atMost(maximums[key]))),
  };
}

function take({ process }: Receiver): Promise<WebhookArrival[]> {
  return process.request({ type: 'take' });
}

async function addAccount({ database }: System): Promise<string> {
  const rows = await database.db.insert(accounts).values({ name: 'other' }).returning({ id: accounts.id });
  return rows[0]?.id ?? '';
}

/** Adds monitors to an account, and channels that receive their alerts. @returns the ids of the monitors */
async function addMonitors(
  stage: Stage,
  accountId: string,
  count: number,
  receiver: Receiver,
  channels: number,
): Promise<string[]> {
  const { database, context } = stage.system;
  const account = { database, context: { ...context, accountId } };
  const ids = await insertMonitors(account, { count, intervalSeconds: 60, url: exampleUrl });
  for (let number = 0; number < channels; number += 1) await stage.alertAll(accountId, receiver);
  return ids;
}

/** @returns a function that records checks and announces the status changes, as a checker does */
function openRecorder({ teardown }: Bench, { database, queueUrl }: System): RecordChecks {
  const store = openQueueStore(queueUrl, () => undefined);
  const producers = new Producers(store);
  teardown.onStop(async () => {
    await producers.close();
    await store.close();
  });
  return async (ids, status) => {
    const checks = ids.map((id) => (status === 'UP' ? checkOf(id) : failureOf(id)));
    const outcomes = await recordChecks(database.db, checks);
    await producers.addStatusChanges(
      outcomes.flatMap((one) => (one.kind === 'recorded' ? (one.statusChangeId ?? []) : [])),
    );
  };
}

/** Resolves when the receiver has this many webhooks. */
async function breakDown(
  ids: readonly string[],
  { process }: Receiver,
  record: RecordChecks,
  webhooks: number,
): Promise<void> {
  for (let from = 0; from < ids.length; from += BATCH) await record(ids.slice(from, from + BATCH), 'DOWN');
  const haveArrived = async (): Promise<boolean> =>
    (await process.request<number>({ type: 'count' })) >= webhooks;
  await until('every webhook to arrive', haveArrived, WITHIN_MS);
}

/** Lets monitors go down and up again, one after the other, until it is stopped. */
function startTrickle(ids: readonly string[], record: RecordChecks): { stop: () => Promise<void> } {
  const startedAt = performance.now();
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    for (let number = 0; !stopping.signal.aborted; number += 1) {
      const early = startedAt + (number * 1_000) / OTHER_PER_SECOND - performance.now();
      if (early > 0) await wait(early);
      const isDown = Math.floor(number / ids.length) % 2 === 0;
      await record(ids.slice(number % ids.length, (number % ids.length) + 1), isDown ? 'DOWN' : 'UP');
    }
  };
  const running = run();
  return {
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}

function outageFigures(
  { span, usage }: MeasuredWindow,
  arrivals: readonly WebhookArrival[],
  floor: Floor,
): Figure[] {
  const last = arrivals.reduce((latest, { receivedAt }) => Math.max(latest, receivedAt), 0);
  const seconds = (last - span.from) / 1_000;
  const distinct = new Set(arrivals.map(({ webhookId }) => webhookId)).size;
  const micros = cpuMicros(usage, ['notifier', 'postgres', 'redis']) / distinct;
  return [
    figure('last', 'first status change to last webhook', seconds, 's'),
    figure('ratio', '  ÷ a bare client for as many webhooks', seconds / floor.seconds, '×'),
    figure('repeated', 'webhooks that arrived twice', arrivals.length - distinct, ''),
    figure('cpu', 'CPU per webhook, notifier and stores', micros, 'µs'),
    figure('cpu-floor', '  of the bare client', floor.cpu, 'µs'),
  ];
}

function otherFigures(key: string, label: string, arrivals: readonly WebhookArrival[]): Figure[] {
  const { p50, p99 } = lagsOf(arrivals);
  return [figure(`${key}-p50`, `${label}, p50`, p50, 'ms'), figure(`${key}-p99`, '  p99', p99, 'ms')];
}

/** Returns the times from the status changes to the webhooks. */
function lagsOf(arrivals: readonly WebhookArrival[]): ReturnType<typeof distributionOf> {
  return distributionOf(arrivals.map(({ receivedAt, timestamp }) => receivedAt - timestamp));
}
