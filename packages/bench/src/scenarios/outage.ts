import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { WebhookEvent } from '@tocsin/contracts/vocabulary';
import { MAX_ATTEMPT_LIMIT } from '@tocsin/core/deliveries/attempt-limit';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { createCertificate } from '@tocsin/embedded/certificates';
import { insertMonitors } from '@tocsin/lab/monitors';
import type { System } from '@tocsin/lab/system';
import { Producers } from '@tocsin/queue/producers';
import { openQueueStores } from '@tocsin/queue/queue-stores';
import { distributionOf } from '../measure/percentiles.ts';
import { HelperProcess } from '../processes/helper-process.ts';
import type { WebhookClientMessage, WebhookClientReport } from '../processes/webhook-client.ts';
import type { WebhookArrival, WebhookTargetMessage } from '../processes/webhook-target.ts';
import { figure, type Figure } from '../report/figure.ts';
import { measureUsage, openStage, type MeasuredWindow } from '../stage.ts';
import { exampleUrl } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';
import { addAccount, checkOf } from './selectors.ts';

const MONITORS = 10_000;
/** Of the receiver that gets the alerts of the outage. */
const RESPONSE_MS = 100;

/** Status changes that a checker records together. */
const BATCH = 500;
/** Another account's alerts, spread evenly. */
const OTHER_MONITORS = 200;
const OTHER_PER_SECOND = 20;
const WARM_UP_SECONDS = 5;
const USUAL_SECONDS = 20;
const WITHIN_MS = 300_000;
const POLL_MS = 250;
const EVENTS: readonly WebhookEvent[] = ['monitor.down', 'monitor.up'];

type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** All monitors of an account go down at once, while another account has its usual alerts. */
export async function runOutage(bench: Bench): Promise<Measurement> {
  const { monitors = MONITORS, seconds = USUAL_SECONDS } = bench.options;
  const stage = await openStage(bench);
  const { system } = stage;
  const slow = await startReceiver(bench, RESPONSE_MS);
  const fast = await startReceiver(bench, 0);
  const caFile = join(system.folder, 'webhook-targets.pem');
  await writeFile(caFile, slow.ca + fast.ca);
  const producers = openProducers(bench, system);
  const outage = await addMonitors(system, system.context.accountId, monitors, slow.url);
  const others = await addMonitors(system, await addAccount(system, 'other'), OTHER_MONITORS, fast.url);
  await stage.startService('notifier', { WEBHOOK_CA_FILE: caFile });
  const record = async (ids: readonly string[], status: 'UP' | 'DOWN'): Promise<void> => {
    const outcomes = await recordChecks(
      system.database.db,
      ids.map((id) => checkOf(id, status)),
    );
    await producers.addStatusChanges(
      outcomes.flatMap((one) => (one.kind === 'recorded' ? (one.statusChangeId ?? []) : [])),
    );
  };
  const trickle = startTrickle(others, record);
  await wait(WARM_UP_SECONDS * 1_000);
  bench.say(`Measuring the alerts of the other account for ${seconds} s …`);
  await fast.target.request({ type: 'take' });
  await wait(seconds * 1_000);
  const usual = await fast.target.request<WebhookArrival[]>({ type: 'take' });
  const floors = [await measureFloor(bench, slow, monitors)];
  await fast.target.request({ type: 'take' });
  bench.say(`${monitors} monitors go down …`);
  const window = await measureUsage(stage, async () => {
    for (let from = 0; from < outage.length; from += BATCH) {
      await record(outage.slice(from, from + BATCH), 'DOWN');
    }
    const recordedAt = Date.now();
    while ((await slow.target.request<number>({ type: 'count' })) < monitors) {
      if (Date.now() > recordedAt + WITHIN_MS) throw new Error('some webhooks did not arrive in time');
      await wait(POLL_MS);
    }
    return recordedAt;
  });
  const during = await fast.target.request<WebhookArrival[]>({ type: 'take' });
  const arrivals = await slow.target.request<WebhookArrival[]>({ type: 'take' });
  await trickle.stop();
  const notes = await stage.profileNotes(window.clock);
  floors.push(await measureFloor(bench, slow, monitors));
  return {
    settings: { monitors, attempts: MAX_ATTEMPT_LIMIT, response: `${RESPONSE_MS} ms` },
    figures: [
      ...outageFigures(window, arrivals, floors),
      ...otherFigures('usual', 'other account, recorded to webhook, usually', usual),
      ...otherFigures('during', '  during the outage', during),
      figure('other-ratio', '  p99 during the outage ÷ usual', ratioOf(during, usual), '×'),
    ],
    ...notes,
  };
}

async function startReceiver({ teardown }: Bench, delayMs: number) {
  const { ca, ...tls } = await createCertificate(['127.0.0.1']);
  const starting = HelperProcess.start<WebhookTargetMessage>('webhook-target');
  const target = await teardown.start(starting, (one) => one.stop());
  const { port } = await target.request<{ port: number }>({ type: 'start', tls, delayMs });
  return { target, ca, url: `https://127.0.0.1:${port}/hook` };
}

function openProducers({ teardown }: Bench, { queueUrl }: System): Producers {
  const stores = openQueueStores(queueUrl, new Map(), () => undefined);
  const producers = new Producers(stores);
  teardown.onStop(async () => {
    await producers.close();
    await stores.close();
  });
  return producers;
}

/** Monitors of an account, and a channel that receives their alerts. @returns the ids of the monitors */
async function addMonitors(
  { database, context }: System,
  accountId: string,
  count: number,
  receiver: string,
): Promise<string[]> {
  const of = { database, context: { ...context, accountId } };
  const ids = await insertMonitors(of, { count, intervalSeconds: 60, url: exampleUrl });
  const channel = { name: 'alerts', url: receiver, monitorIds: [], allMonitors: true, events: [...EVENTS] };
  await createChannel(context, systemActor(accountId), channel);
  return ids;
}

/** Monitors go down and up in turn, until it is stopped. */
function startTrickle(
  ids: readonly string[],
  record: (ids: readonly string[], status: 'UP' | 'DOWN') => Promise<void>,
): { stop: () => Promise<void> } {
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

/** A bare client sends as many webhooks, with as many at a time, in a process of its own. */
async function measureFloor(
  { teardown, say }: Bench,
  { ca, url, target }: Receiver,
  requests: number,
): Promise<WebhookClientReport> {
  say('Measuring a bare client …');
  const starting = HelperProcess.start<WebhookClientMessage>('webhook-client');
  const client = await teardown.start(starting, (one) => one.stop());
  const report = await client.request<WebhookClientReport>({
    url,
    ca,
    requests,
    concurrency: MAX_ATTEMPT_LIMIT,
  });
  await client.stop();
  await target.request({ type: 'take' });
  return report;
}

function outageFigures(
  { span, usage, result: recordedAt }: MeasuredWindow<number>,
  arrivals: readonly WebhookArrival[],
  floors: readonly WebhookClientReport[],
): Figure[] {
  const last = arrivals.reduce((latest, { at }) => Math.max(latest, at), 0);
  const seconds = (last - span.from) / 1_000;
  const distinct = new Set(arrivals.map(({ webhookId }) => webhookId)).size;
  const mean = (valueOf: (floor: WebhookClientReport) => number): number =>
    floors.reduce((sum, floor) => sum + valueOf(floor), 0) / floors.length;
  const floor = mean((one) => one.seconds);
  const cpu = (name: string): number => ((usage.get(name)?.cpuMs ?? Number.NaN) * 1_000) / distinct;
  return [
    figure('last', 'first status change to last webhook', seconds, 's'),
    figure('floor', 'a bare client for as many webhooks', floor, 's'),
    figure('ratio', '  Tocsin ÷ bare client', seconds / floor, '×'),
    figure('recorded', 'status changes recorded after', (recordedAt - span.from) / 1_000, 's'),
    figure('repeated', 'webhooks that arrived twice', arrivals.length - distinct, ''),
    figure(
      'failures',
      'failures of the bare client',
      floors.reduce((sum, one) => sum + one.failures, 0),
      '',
    ),
    ...['notifier', 'postgres', 'redis'].map((name) =>
      figure(`cpu-${name}`, `CPU per webhook, ${name}`, cpu(name), 'µs'),
    ),
    figure('cpu-floor', 'CPU per webhook, bare client', (mean((one) => one.cpuMs) * 1_000) / distinct, 'µs'),
  ];
}

function otherFigures(key: string, label: string, arrivals: readonly WebhookArrival[]): Figure[] {
  const { p50, p99 } = distributionOf(lagsOf(arrivals));
  return [figure(`${key}-p50`, `${label}, p50`, p50, 'ms'), figure(`${key}-p99`, '  p99', p99, 'ms')];
}

function ratioOf(during: readonly WebhookArrival[], usual: readonly WebhookArrival[]): number {
  return distributionOf(lagsOf(during)).p99 / distributionOf(lagsOf(usual)).p99;
}

function lagsOf(arrivals: readonly WebhookArrival[]): number[] {
  return arrivals.map(({ at, timestamp }) => at - timestamp);
}
