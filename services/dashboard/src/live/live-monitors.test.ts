import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { digestOf } from '@tocsin/contracts/live-stream/digest';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { INCIDENT } from '@tocsin/contracts/routes/examples';
import { monitorsQuery } from '../monitors/queries.ts';
import { LiveMonitors, updateIncident, updateMonitors } from './live-monitors.ts';
import { Reloader } from './reloader.ts';
import { batchOf, EARLY, LATE, LATER, LATEST, monitorOf } from './testing/batches.ts';

const DOWN = { status: 'DOWN', errorDetail: 'connection refused', timestamp: LATER } as const;

/** The monitor a, after a batch. */
function afterBatch(
  batch: Parameters<typeof batchOf>[0],
  monitor = monitorOf('a'),
): MonitorOverview | undefined {
  return updateMonitors([monitor], batchOf(batch))[0];
}

test('updates only the monitors of the batch', () => {
  const monitors = [monitorOf('a'), monitorOf('b'), monitorOf('c')];
  const checks = [{ monitorId: 'b', timestamp: LATER }];
  const after = updateMonitors(monitors, batchOf({ checks, statusChanges: [{ monitorId: 'c', ...DOWN }] }));
  const { timestamp: statusSince, ...down } = DOWN;
  expect(after).toEqual([
    monitors[0],
    { ...monitorOf('b'), lastCheckedAt: LATER },
    { ...monitorOf('c'), ...down, statusSince, failing: true },
  ]);
  expect(after[0]).toBe(monitors[0]);
});

test.each([
  ['UP', null, false],
  ['MAINTENANCE', 'i', true],
] as const)(
  'a change to %s removes the cause of the outage; only a recovery ends the incident and the failure',
  (status, id, failing) => {
    const incident = { id: 'i', openedAt: LATE, acknowledgedAt: null, acknowledgedBy: null };
    const cause = { status: 'DOWN', failing: true, errorDetail: 'connection refused' } as const;
    const down = { ...monitorOf('a'), ...cause, incident };
    const change = { monitorId: 'a', status, errorDetail: null, timestamp: LATER };
    const after = afterBatch({ statusChanges: [change] }, down);
    expect(after).toMatchObject({ status, errorDetail: null, failing });
    expect(after?.incident?.id ?? null).toBe(id);
  },
);

test('ignores replayed records that are older than the list, and checks of another URL', () => {
  const checks = [
    { monitorId: 'a', timestamp: EARLY },
    { monitorId: 'a', timestamp: LATER, url: 'https://preview.example.com' },
  ];
  const statusChanges = [{ monitorId: 'a', ...DOWN, timestamp: EARLY }];
  expect(afterBatch({ checks, statusChanges })).toEqual(monitorOf('a'));
});

/** The list of a server, whose responses the test delivers. */
class Server {
  readonly queryClient = new QueryClient();
  /** Pending responses, oldest first. */
  readonly responses: (() => void)[] = [];
  monitors: readonly MonitorOverview[] = [monitorOf('a')];
  position = LATE;
  corrections = 0;
  #read = '';
  readonly #reloader = new Reloader(this.queryClient);
  readonly live = new LiveMonitors(this.queryClient, this.#reloader, {
    position: () => this.#read,
    onCorrected: () => (this.corrections += 1),
  });
  readonly #observer = new QueryObserver(this.queryClient, {
    queryKey: monitorsQuery.queryKey,
    queryFn: async () => {
      const [monitors, position] = [this.monitors, this.position];
      await new Promise<void>((resolve) => this.responses.push(resolve));
      this.#read = position;
      return [...monitors];
    },
  });
  readonly #unsubscribe = this.#observer.subscribe(() => {});

  /** Delivers the oldest response. */
  async respond(): Promise<void> {
    this.responses.shift()?.();
    for (let tick = 0; tick < 10; tick += 1) await Promise.resolve();
  }

  shown(): MonitorOverview | undefined {
    return this.queryClient.getQueryData(monitorsQuery.queryKey)?.[0];
  }

  compare(position: string): void {
    this.live.compare({ ...digestOf(this.monitors), position });
  }

  stop(): void {
    this.#unsubscribe();
    this.live.stop();
    this.#reloader.stop();
    this.queryClient.clear();
  }
}

describe('LiveMonitors', () => {
  const DOWN_SINCE = { ...monitorOf('a'), status: 'DOWN' as const, statusSince: LATER };
  let server: Server;
  beforeEach(() => {
    jest.useFakeTimers();
    server = new Server();
  });
  afterEach(() => {
    server.stop();
    jest.useRealTimers();
  });

  test('a list that was read before a change does not undo the change', async () => {
    server.live.apply(batchOf({ statusChanges: [{ monitorId: 'a', ...DOWN }] }));
    await server.respond();
    expect(server.shown()).toMatchObject({ status: 'DOWN', statusSince: LATER });
  });

  test('an unknown monitor reloads the list once', async () => {
    await server.respond();
    const unknown = batchOf({ checks: [{ monitorId: 'new', timestamp: LATER }] });
    for (const reloads of [1, 0]) {
      server.live.apply(unknown);
      jest.advanceTimersByTime(10_000);
      expect(server.responses).toHaveLength(reloads);
      await server.respond();
    }
  });

  test('only a list that differs from the digest is reloaded, and the page says so', async () => {
    await server.respond();
    server.compare(LATER);
    expect(server.responses).toEqual([]);
    const incident = { id: 'i', openedAt: LATER, acknowledgedAt: null, acknowledgedBy: null };
    server.monitors = [{ ...monitorOf('a'), ...DOWN, statusSince: LATER, incident }];
    server.compare(LATER);
    expect([server.responses.length, server.corrections]).toEqual([1, 0]);
    await server.respond();
    expect([server.shown()?.status, server.corrections]).toEqual(['DOWN', 1]);
  });

  test.each([
    ['created', [monitorOf('a'), monitorOf('b')]],
    ['deleted', []],
    ['edited', [{ ...monitorOf('a'), updatedAt: LATER }]],
    ['found failing in maintenance', [{ ...monitorOf('a'), failing: true }]],
    ['given another certificate', [{ ...monitorOf('a'), certificateExpiresAt: LATER }]],
    ['edited and down', [{ ...DOWN_SINCE, updatedAt: LATER }]],
  ])('a monitor that was %s is reloaded silently', async (_, monitors) => {
    await server.respond();
    server.monitors = monitors;
    server.compare(LATER);
    await server.respond();
    expect(server.queryClient.getQueryData(monitorsQuery.queryKey)).toEqual(monitors);
    expect(server.corrections).toBe(0);
  });

  test.each([
    ['was read after the digest', EARLY, false],
    ['was read with the digest', LATE, false],
    ['is being loaded', LATEST, true],
  ])('a list that %s is not compared', async (_, position, isLoading) => {
    await server.respond();
    server.monitors = [DOWN_SINCE];
    if (isLoading) void server.queryClient.invalidateQueries();
    server.compare(position);
    expect(server.responses).toHaveLength(isLoading ? 1 : 0);
    await server.respond();
    expect([server.responses.length, server.corrections]).toEqual([0, 0]);
  });
});

describe('updateIncident', () => {
  const open = { id: INCIDENT.id, openedAt: INCIDENT.openedAt, acknowledgedAt: null, acknowledgedBy: null };
  const rows = [
    { id: INCIDENT.monitorId, incident: open },
    { id: 'down too', incident: { ...open, id: 'another' } },
    { id: 'up', incident: null },
  ];
  const acknowledgedBy = { id: '019a9f19-7283-7495-86a7-b8c9daebfc0d', name: 'Ada' };
  const acknowledged = { ...INCIDENT, acknowledgedAt: LATER, acknowledgedBy };
  const shown = { ...open, acknowledgedAt: LATER, acknowledgedBy: 'Ada' };

  test('shows an acknowledgement in the row of a monitor, even if it has just gone down', () => {
    const after = updateIncident(rows, acknowledged);
    expect(after[0]?.incident).toEqual(shown);
    expect(after.slice(1)).toEqual(rows.slice(1));
    expect(updateIncident(after, INCIDENT)).toEqual(rows);
    const [row] = updateIncident([{ id: INCIDENT.monitorId, incident: null }], acknowledged);
    expect(row?.incident).toEqual(shown);
  });

  test('does not hide a later incident because of a note about a resolved one', () => {
    const resolved = { ...acknowledged, resolvedAt: LATEST };
    expect(updateIncident(rows, resolved)[0]?.incident).toBeNull();
    const later = [{ id: INCIDENT.monitorId, incident: { ...open, id: 'later' } }];
    expect(updateIncident(later, resolved)).toEqual(later);
  });
});
