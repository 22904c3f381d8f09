import { createMonitors } from '../lab/create-monitors.ts';
import { fillHistory } from '../lab/fill-history.ts';
import { Lab } from '../lab/lab.ts';
import { readUsage } from '../measure/proc.ts';
import type { ApiClientMessage, ApiClientReport, ApiRequest } from '../processes/api-client.ts';
import { profileTop } from '../profile/profile-top.ts';
import { figure, type Figure } from '../report/figure.ts';
import type { Bench, Measurement } from './scenario.ts';

const CLIENTS = 8;
const WARM_UP_SECONDS = 2;
/** As many as the API is to take in five seconds. */
const SET_SIZE = 5_000;

/** What the API answers, without any limit of requests, and with nothing else to do for the machine. */
export async function runApi(bench: Bench): Promise<Measurement> {
  const monitors = bench.options.monitors ?? 1_000;
  const seconds = bench.options.seconds ?? 8;
  bench.say('Starting an API of its own …');
  const lab = await Lab.open(
    { queue: bench.options.queue ?? 'redis', profile: bench.profile },
    bench.teardown,
  );
  const api = await lab.startService('api');
  const plan = { count: monitors, intervalSeconds: 60, url: exampleUrl };
  const ids = await createMonitors(lab, plan, Infinity);
  const { days } = await fillHistory(lab, { monitorIds: ids, events: monitors * 100, days: 1, big: null });
  const clockFrom = process.hrtime.bigint();
  const figures = [
    ...(await measure(bench, lab, 'list', `list ${monitors} monitors`, seconds, [
      { method: 'GET', path: '/api/cli/monitors' },
    ])),
    ...(await measure(bench, lab, 'get', 'get a monitor', seconds, getsOf(ids))),
    ...(await measure(bench, lab, 'events', 'events since', seconds, eventsOf(ids, days))),
    ...(await measure(bench, lab, 'create', 'create a monitor', seconds, [
      { method: 'POST', path: '/api/cli/monitors', body: { name: 'Created', url: 'https://example.com' } },
    ])),
    ...(await measureSet(bench, lab)),
  ];
  const clock = { from: clockFrom, to: process.hrtime.bigint() };
  if (bench.profile === 'api') await api.stop();
  return {
    settings: { monitors, seconds, clients: CLIENTS },
    figures,
    ...(bench.profile === 'api' && { notes: await profileTop(lab.profileFolder, clock) }),
  };
}

async function measure(
  bench: Bench,
  lab: Lab,
  key: string,
  label: string,
  seconds: number,
  requests: readonly ApiRequest[],
): Promise<Figure[]> {
  bench.say(`Measuring "${label}" …`);
  const { apiKey, baseUrl } = lab;
  const client = await lab.startHelper<ApiClientMessage>('api-client');
  const message = { apiKey, baseUrl, clients: CLIENTS, requests };
  await client.ask({ ...message, seconds: Math.min(WARM_UP_SECONDS, seconds) });
  const before = readUsage(lab.programs).get('api');
  const report = await client.ask<ApiClientReport>({ ...message, seconds });
  const after = readUsage(lab.programs).get('api');
  await client.stop();
  const cpuMs = (after?.cpuMs ?? Number.NaN) - (before?.cpuMs ?? Number.NaN);
  return [
    figure(`${key}-rate`, label, report.perSecond, '/s'),
    figure(`${key}-p50`, '  p50', report.latencyMs.p50, 'ms'),
    figure(`${key}-p99`, '  p99', report.latencyMs.p99, 'ms'),
    figure(`${key}-cpu`, '  CPU of the api', (cpuMs * 1_000) / report.latencyMs.count, 'µs'),
    ...(report.failures === 0 ? [] : [figure(`${key}-failures`, '  failures', report.failures, '')]),
  ];
}

/** A whole set in one request: when it is new, as it is, and when each of its monitors is another one. */
async function measureSet(bench: Bench, { apiKey, baseUrl }: Lab): Promise<Figure[]> {
  bench.say(`Measuring "apply a set of ${SET_SIZE}" …`);
  const put = async (interval: number): Promise<number> => {
    const monitors = Array.from({ length: SET_SIZE }, (_, index) => ({
      externalId: `set-${index}`,
      name: `Set ${index}`,
      url: exampleUrl(index),
      interval,
    }));
    const body = JSON.stringify({ source: 'bench', monitors });
    const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' };
    const from = performance.now();
    const response = await fetch(`${baseUrl}/api/cli/monitors`, { method: 'PUT', headers, body });
    const answer = await response.text();
    if (!response.ok) throw new Error(`the set was answered with ${response.status}: ${answer}`);
    return performance.now() - from;
  };
  return [
    figure('set-new', `apply a set of ${SET_SIZE} monitors, all new`, await put(60), 'ms'),
    figure('set-same', '  once more, nothing changes', await put(60), 'ms'),
    figure('set-changed', '  all changed', await put(120), 'ms'),
  ];
}

/** Nothing checks these monitors. */
export function exampleUrl(number: number): string {
  return `https://example.com/${number}`;
}

export function getsOf(ids: readonly string[]): ApiRequest[] {
  return ids.map((id) => ({ method: 'GET', path: `/api/cli/monitors/${id}` }));
}

/** Each from a moment of its own within the history. */
export function eventsOf(
  ids: readonly string[],
  days: { readonly from: Date; readonly to: Date },
): ApiRequest[] {
  return ids.map((id, index) => {
    const spanMs = days.to.getTime() - days.from.getTime();
    // The golden ratio spreads them, whatever their number.
    const since = new Date(days.from.getTime() + ((index * 0.618_033_988_75) % 1) * spanMs);
    return { method: 'GET', path: `/api/cli/monitors/${id}/events?since=${since.toISOString()}` };
  });
}
