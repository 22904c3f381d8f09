import type { Selector } from '@tocsin/contracts/labels/selector';
import { monitorSetSchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { accounts } from '@tocsin/db/users/table';
import type { System } from '@tocsin/lab/system';
import { distributionOf } from '../measure/percentiles.ts';
import { timeOf } from '../measure/requests.ts';
import { figure, type Figure } from '../report/figure.ts';
import { measureUsage, openStage, type Stage } from '../stage.ts';
import { exampleUrl } from './api.ts';
import type { Bench, Measurement } from './scenario.ts';

/** Monitors of an account whose status changes, all in one batch. */
const BATCH = 100;
const ROUNDS = 200;
const WARM_UP_ROUNDS = 20;
/** Channels that receive the status changes of a monitor. */
const RECEIVERS = 3;
const CHANNELS = 1_000;
const RELABELED = 10_000;

/** What selectors cost: status changes in an account with many channels, and relabeling many monitors. */
export async function runSelectors(bench: Bench): Promise<Measurement> {
  const { monitors = RELABELED } = bench.options;
  const stage = await openStage(bench);
  return {
    settings: { monitors, channels: CHANNELS, receivers: RECEIVERS },
    figures: [
      ...(await measureStatusChanges(bench, stage.system)),
      ...(await measureRelabeling(bench, stage, monitors)),
    ],
  };
}

/** Accounts take turns, so that the machine treats them alike. */
async function measureStatusChanges({ say }: Bench, system: System): Promise<Figure[]> {
  say(`Creating accounts with ${CHANNELS} channels …`);
  const kinds = {
    few: {
      label: `record ${BATCH} status changes, ${RECEIVERS} channels in the account`,
      ids: await makeAccount(system, 'few'),
    },
    listed: { label: `  ${CHANNELS} channels that list monitors`, ids: await makeAccount(system, 'listed') },
    selectors: {
      label: `  ${CHANNELS} channels with selectors`,
      ids: await makeAccount(system, 'selectors'),
    },
  };
  await system.database.pool.query('analyze');
  say('Recording status changes …');
  const durations = new Map(Object.keys(kinds).map((kind) => [kind, [] as number[]]));
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
    const turns = Object.entries(kinds);
    for (const [kind, { ids }] of round % 4 < 2 ? turns : turns.toReversed()) {
      const checks = ids.map((id) => checkOf(id, round % 2 === 0 ? 'DOWN' : 'UP'));
      const took = await timeOf(() => recordChecks(system.database.db, checks));
      if (round >= 0) durations.get(kind)?.push(took);
    }
  }
  return Object.entries(kinds).map(([kind, { label }]) =>
    figure(`status-${kind}`, label, distributionOf(durations.get(kind) ?? []).p50, 'ms'),
  );
}

/** An account with a batch of monitors. @returns their ids */
async function makeAccount(system: System, kind: 'few' | 'listed' | 'selectors'): Promise<readonly string[]> {
  const accountId = await addAccount(system, kind);
  const groups = CHANNELS / RECEIVERS;
  const ids = await applyLabels(system, accountId, BATCH, (index) => ({ app: `app-${index}` }));
  for (let index = 0; index < (kind === 'few' ? RECEIVERS : CHANNELS); index += 1) {
    const own =
      kind === 'few' ? ids : ids.filter((_, number) => number === Math.floor(index / RECEIVERS) % groups);
    await addChannel(system, accountId, {
      monitorIds: kind === 'selectors' ? [] : own,
      selector:
        kind === 'selectors' ? { matchLabels: { app: `app-${Math.floor(index / RECEIVERS)}` } } : null,
    });
  }
  return ids;
}

async function measureRelabeling({ say }: Bench, stage: Stage, monitors: number): Promise<Figure[]> {
  const { system } = stage;
  const figures: Figure[] = [];
  const accountId = await addAccount(system, 'relabeling');
  let turn = 0;
  let channels = 0;
  for (const count of [0, 20, CHANNELS]) {
    say(`Relabeling ${monitors} monitors with ${count} channels …`);
    for (; channels < count; channels += 1) {
      // Each monitor matches two channels.
      const selector: Selector = {
        matchExpressions: [
          { key: 'app', operator: 'In', values: [`app-${channels}`, `app-${(channels + 1) % count}`] },
        ],
      };
      await addChannel(system, accountId, { monitorIds: [], selector });
    }
    const relabel = (): Promise<unknown> => {
      turn += 1;
      return applyLabels(system, accountId, monitors, (index) => ({
        team: 'shop',
        app: `app-${(index + turn) % Math.max(count, 20)}`,
      }));
    };
    await relabel();
    await system.database.pool.query('analyze');
    const ownCpu = process.cpuUsage();
    const { result: durations, usage } = await measureUsage(stage, async () => [
      await timeOf(relabel),
      await timeOf(relabel),
      await timeOf(relabel),
    ]);
    const { user, system: kernel } = process.cpuUsage(ownCpu);
    const cpuMs = (user + kernel) / 1_000 + (usage.get('postgres')?.cpuMs ?? Number.NaN);
    const label = `relabel ${monitors} monitors, ${count} channels with selectors`;
    figures.push(
      figure(`relabel-${count}`, label, distributionOf(durations).p50, 'ms'),
      figure(`relabel-${count}-cpu`, '  CPU of Node.js and PostgreSQL', cpuMs / durations.length, 'ms'),
    );
  }
  return figures;
}

export async function addAccount({ database }: System, name: string): Promise<string> {
  const [account] = await database.db.insert(accounts).values({ name }).returning({ id: accounts.id });
  if (account === undefined) throw new TypeError('an insert returns its row');
  return account.id;
}

async function addChannel(
  { context }: System,
  accountId: string,
  scope: { readonly monitorIds: readonly string[]; readonly selector: Selector | null },
): Promise<void> {
  const fields = { name: 'ops', url: 'https://hooks.example', ...scope };
  await createChannel(context, systemActor(accountId), fields);
}

/** Applies a set of monitors with these labels. @returns their ids, in order */
async function applyLabels(
  { context }: System,
  accountId: string,
  count: number,
  labelsOf: (index: number) => Record<string, string>,
): Promise<readonly string[]> {
  const monitors = Array.from({ length: count }, (_, index) => ({
    externalId: String(index).padStart(5, '0'),
    name: `Monitor ${index}`,
    url: exampleUrl(index),
    labels: labelsOf(index),
  }));
  const set = monitorSetSchema.parse({ source: 'bench', monitors });
  const { schedules } = await applySet(context, systemActor(accountId), set, 'default');
  return schedules.map(({ monitorId }) => monitorId);
}

let slot = 0;

/** A check a second after the last one, so that no slot is repeated. */
export function checkOf(monitorId: string, status: 'UP' | 'DOWN'): CheckRecord {
  slot += 1_000;
  const isDown = status === 'DOWN';
  return {
    monitorId,
    region: 'default',
    revision: 1,
    slot: Date.now() + slot,
    source: 'schedule',
    triggerId: null,
    urlOverride: null,
    status,
    latencyMs: 12,
    statusCode: isDown ? 500 : 200,
    errorReason: isDown ? 'HTTP_500' : null,
    errorDetail: null,
    timings: { dns: 1, tcp: 2, tls: 3, firstByte: 4, download: 2 },
    certificateExpiresAt: null,
    network: null,
    response: null,
  };
}
