import type { ApiCall } from '@tocsin/lab/api-client';
import { createMonitors } from '@tocsin/lab/monitors';
import { fillHistory } from '../measure/fill-history.ts';
import { measureRequests } from '../measure/requests.ts';
import { profileTop } from '../profile/profile-top.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage, type Stage } from '../stage.ts';
import { withoutNulls } from './scale.ts';
import type { Bench, Measurement } from './scenario.ts';

const CLIENTS = 8;
const WARM_UP_SECONDS = 2;
const MONITORS = '/api/cli/monitors';
/** As many as the API is to apply in five seconds. */
const SET_SIZE = 5_000;

/** The API without any rate limit, on a machine that does nothing else. */
export async function runApi(bench: Bench): Promise<Measurement> {
  const { monitors = 1_000, seconds = 8, queue } = withoutNulls(bench.options);
  const stage = await openStage(bench, { ...(queue && { queue }) });
  const { system } = stage;
  await stage.startService('api');
  const plan = { count: monitors, intervalSeconds: 60, url: exampleUrl };
  const ids = await createMonitors(system, plan, Infinity);
  const history = { monitorIds: ids, events: monitors * 100, days: 1, big: null };
  const { days } = await fillHistory(system, history);
  const clockFrom = process.hrtime.bigint();
  const measure = (key: string, label: string, calls: readonly ApiCall[]): Promise<Figure[]> =>
    measureCalls(bench, stage, { key, label, seconds, calls });
  const figures = [
    ...(await measure('list', `list ${monitors} monitors`, [{ method: 'GET', path: MONITORS }])),
    ...(await measure('get', 'get a monitor', getsOf(ids))),
    ...(await measure('events', 'events since', eventsOf(ids, days))),
    ...(await measure('create', 'create a monitor', [
      { method: 'POST', path: MONITORS, body: { name: 'Created', url: 'https://example.com' } },
    ])),
    ...(await measureSet(bench, stage)),
  ];
  const clock = { from: clockFrom, to: process.hrtime.bigint() };
  if (bench.profile === 'api') await stage.stopServices(['api']);
  return {
    settings: { monitors, seconds, clients: CLIENTS },
    figures,
    ...(bench.profile === 'api' && { notes: await profileTop(stage.profileFolder, clock) }),
  };
}

interface CallsPlan {
  readonly key: string;
  readonly label: string;
  readonly seconds: number;
  readonly calls: readonly ApiCall[];
}

async function measureCalls(
  bench: Bench,
  stage: Stage,
  { key, label, seconds, calls }: CallsPlan,
): Promise<Figure[]> {
  bench.say(`Measuring "${label}" …`);
  const warmUp = { clients: CLIENTS, seconds: Math.min(WARM_UP_SECONDS, seconds) };
  await measureRequests(stage.system, calls, warmUp);
  const before = stage.usage().get('api');
  const report = await measureRequests(stage.system, calls, { clients: CLIENTS, seconds });
  const after = stage.usage().get('api');
  const cpuMs = (after?.cpuMs ?? Number.NaN) - (before?.cpuMs ?? Number.NaN);
  return [
    figure(`${key}-rate`, label, report.perSecond, '/s'),
    figure(`${key}-p50`, '  p50', report.latencyMs.p50, 'ms'),
    figure(`${key}-p99`, '  p99', report.latencyMs.p99, 'ms'),
    figure(`${key}-cpu`, '  CPU of the api', (cpuMs * 1_000) / report.latencyMs.count, 'µs'),
    ...(report.failures === 0 ? [] : [figure(`${key}-failures`, '  failures', report.failures, '')]),
  ];
}

/** A whole set in one request: when it is new, unchanged, and when each of its monitors is changed. */
async function measureSet(bench: Bench, { system }: Stage): Promise<Figure[]> {
  bench.say(`Measuring "apply a set of ${SET_SIZE}" …`);
  const put = async (interval: number): Promise<number> => {
    const monitors = Array.from({ length: SET_SIZE }, (_, index) => ({
      externalId: `set-${index}`,
      name: `Set ${index}`,
      url: exampleUrl(index),
      interval,
    }));
    const from = performance.now();
    const response = await system.request('PUT', MONITORS, { source: 'bench', monitors });
    if (response.status >= 300) throw new Error(`the set was answered with ${JSON.stringify(response)}`);
    return performance.now() - from;
  };
  return [
    figure('set-new', `apply a set of ${SET_SIZE} monitors, all new`, await put(60), 'ms'),
    figure('set-same', '  once more, nothing changes', await put(60), 'ms'),
    figure('set-changed', '  all changed', await put(120), 'ms'),
  ];
}

/** No service checks these monitors. */
export function exampleUrl(number: number): string {
  return `https://example.com/${number}`;
}

export function getsOf(ids: readonly string[]): ApiCall[] {
  return ids.map((id) => ({ method: 'GET', path: `${MONITORS}/${id}` }));
}

/** Each from a moment of its own within the history. */
export function eventsOf(
  ids: readonly string[],
  days: { readonly from: Date; readonly to: Date },
): ApiCall[] {
  return ids.map((id, index) => {
    const spanMs = days.to.getTime() - days.from.getTime();
    // The golden ratio spreads them, whatever their number.
    const since = new Date(days.from.getTime() + ((index * 0.618_033_988_75) % 1) * spanMs);
    return { method: 'GET', path: `${MONITORS}/${id}/events?since=${since.toISOString()}` };
  });
}
