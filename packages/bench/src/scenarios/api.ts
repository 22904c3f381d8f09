import type { ApiCall } from '@tocsin/lab/api-client';
import { createMonitors } from '@tocsin/lab/monitors';
import { setRolledUntil } from '@tocsin/lab/past-events';
import type { Span } from '@tocsin/lab/slots';
import type { System } from '@tocsin/lab/system';
import { fillDay, hoursAgo } from '../measure/past-days.ts';
import { measureCalls, timeOf } from '../measure/requests.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

const CLIENTS = 8;
const WARM_UP_SECONDS = 2;
const EVENTS_PER_MONITOR = 100;
export const MONITORS = '/api/cli/monitors';
/** The API should apply a set of this size within five seconds. */
const SET_SIZE = 5_000;

/** Measures the API without a rate limit, while nothing else runs. */
export async function runApi(bench: Bench): Promise<Measurement> {
  const { monitors = 1_000, seconds = 8, queue = 'redis' } = bench.options;
  const stage = await openStage(bench, { queue });
  const { system } = stage;
  await stage.startService('api');
  const ids = await createMonitors(
    system,
    { count: monitors, intervalSeconds: 60, url: exampleUrl },
    Infinity,
  );
  const day = await fillDay(system, [[ids, EVENTS_PER_MONITOR]]);
  // Otherwise the api would roll this day up while it is measured.
  await setRolledUntil(system.database.pool, hoursAgo(0));
  const plan = { clients: CLIENTS, seconds, warmUpSeconds: Math.min(WARM_UP_SECONDS, seconds) };
  const measure = (key: string, label: string, calls: readonly ApiCall[]): Promise<Figure[]> =>
    measureCalls(bench, stage, { ...plan, key, label, calls });
  const created = { name: 'Created', url: 'https://example.com' };
  return {
    settings: { monitors, seconds, clients: CLIENTS },
    figures: [
      ...(await measure('list', `list ${monitors} monitors`, [{ method: 'GET', path: MONITORS }])),
      ...(await measure('get', 'get a monitor', getsOf(ids))),
      ...(await measure('events', 'events since', eventsOf(ids, day))),
      ...(await measure('create', 'create a monitor', [{ method: 'POST', path: MONITORS, body: created }])),
      ...(await measureSet(bench, system)),
    ],
  };
}

/** Applies a whole set in one request, first new, then unchanged, then with every monitor changed. */
async function measureSet({ say }: Bench, system: System): Promise<Figure[]> {
  say(`Measuring "apply a set of ${SET_SIZE}" …`);
  const put = (interval: number): Promise<number> =>
    timeOf(async () => {
      const monitors = Array.from({ length: SET_SIZE }, (_, index) => ({
        externalId: `set-${index}`,
        name: `Set ${index}`,
        url: exampleUrl(index),
        interval,
      }));
      const response = await system.request('PUT', MONITORS, { source: 'bench', monitors });
      if (response.status >= 300) throw new Error(`set not applied: ${JSON.stringify(response)}`);
    });
  return [
    figure('set-new', `apply a set of ${SET_SIZE} monitors, all new`, await put(60), 'ms'),
    figure('set-same', '  once more, nothing changes', await put(60), 'ms'),
    figure('set-changed', '  all changed', await put(120), 'ms'),
  ];
}

/** Returns the URL of a monitor that no service checks. */
export function exampleUrl(number: number): string {
  return `https://example.com/${number}`;
}

export function getsOf(ids: readonly string[]): ApiCall[] {
  return ids.map((id) => ({ method: 'GET', path: `${MONITORS}/${id}` }));
}

/** Each request starts at a different time within the history. */
export function eventsOf(ids: readonly string[], { from, to }: Span): ApiCall[] {
  return ids.map((id, index) => {
    // The golden ratio spreads the times evenly for any number of monitors.
    const since = new Date(from + ((index * 0.618_033_988_75) % 1) * (to - from));
    return { method: 'GET', path: `${MONITORS}/${id}/events?since=${since.toISOString()}` };
  });
}
