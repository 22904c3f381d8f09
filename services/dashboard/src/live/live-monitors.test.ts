import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { digestOf } from '@tocsin/contracts/live-stream/digest';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { monitorsQuery } from '../monitors/queries.ts';
import { LiveMonitors, updateMonitors } from './live-monitors.ts';
import { Reloader } from './reloader.ts';
import { batchOf, EARLY, LATE, LATER, LATEST, monitorOf } from './testing/batches.ts';

const DOWN = { status: 'DOWN', errorDetail: 'connection refused', timestamp: LATER } as const;

test('updates only the monitors of the batch', () => {
  const monitors = [monitorOf('a'), monitorOf('b'), monitorOf('c')];
  const [a, b, c] = updateMonitors(
    monitors,
    batchOf({
      checks: [{ monitorId: 'b', timestamp: LATER }],
      statusChanges: [{ monitorId: 'c', ...DOWN }],
    }),
  );
  expect(a).toBe(monitors[0]);
  expect(b).toEqual({ ...monitorOf('b'), lastCheckedAt: LATER });
  expect(c).toEqual({
    ...monitorOf('c'),
    status: 'DOWN',
    statusSince: LATER,
    errorDetail: 'connection refused',
  });
});

test('a recovery removes the cause of the outage', () => {
  const [down] = updateMonitors([monitorOf('a')], batchOf({ statusChanges: [{ monitorId: 'a', ...DOWN }] }));
  expect(down?.errorDetail).toBe('connection refused');
  const up = { monitorId: 'a', status: 'UP', errorDetail: null, timestamp: LATER } as const;
  const [recovered] = updateMonitors(down ? [down] : [], batchOf({ statusChanges: [up] }));
  expect(recovered).toMatchObject({ status: 'UP', errorDetail: null });
});

test('ignores replayed records that are older than the list', () => {
  const old = batchOf({
    checks: [{ monitorId: 'a', timestamp: EARLY }],
    statusChanges: [{ monitorId: 'a', ...DOWN, timestamp: EARLY }],
  });
  expect(updateMonitors([monitorOf('a')], old)).toEqual([monitorOf('a')]);
});

test('ignores checks of another URL', () => {
  const checks = [{ monitorId: 'a', timestamp: LATER, url: 'https://preview.example.com' }];
  expect(updateMonitors([monitorOf('a')], batchOf({ checks }))).toEqual([monitorOf('a')]);
});

test('a recovery ends the incident', () => {
  const incident = { id: 'i', openedAt: LATE, acknowledgedAt: null, acknowledgedBy: null };
  const down = { ...monitorOf('a'), status: 'DOWN' as const, incident };
  const changeTo = (status: 'UP' | 'MAINTENANCE') =>
    updateMonitors([down], batchOf({ statusChanges: [{ monitorId: 'a', status, timestamp: LATER }] }))[0];
  expect([changeTo('UP')?.incident, changeTo('MAINTENANCE')?.incident]).toEqual([null, incident]);
});

/** The list of a server, whose responses the test delivers. */
class Server {
  readonly queryClient = new QueryClient();
  /** The responses that are on their way, oldest first. */
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
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
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
  let server: Server;
  beforeEach(() => {
    jest.useFakeTimers();
    server = new Server();
  });
  afterEach(() => {
    server.stop();
    jest.useRealTimers();
  });

  test('a list that was read before a change does not undo it', async () => {
    server.live.apply(batchOf({ statusChanges: [{ monitorId: 'a', ...DOWN }] }));
    await server.respond();
    expect(server.shown()).toMatchObject({ status: 'DOWN', statusSince: LATER });
  });

  test('an unknown monitor reloads the list once', async () => {
    await server.respond();
    const unknown = batchOf({ checks: [{ monitorId: 'new', timestamp: LATER }] });
    for (let turn = 0; turn < 2; turn += 1) {
      server.live.apply(unknown);
      jest.advanceTimersByTime(10_000);
      expect(server.responses).toHaveLength(1 - turn);
      await server.respond();
    }
  });

  test('a list that equals the digest is not reloaded', async () => {
    await server.respond();
    server.compare(LATER);
    expect(server.responses).toEqual([]);
  });

  test('wrong statuses are reloaded, and the page says so', async () => {
    await server.respond();
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
    ['given another certificate', [{ ...monitorOf('a'), certificateExpiresAt: LATER }]],
    [
      'edited and down',
      [{ ...monitorOf('a'), updatedAt: LATER, status: 'DOWN' as const, statusSince: LATER }],
    ],
  ])('a monitor that was %s is reloaded silently', async (_, monitors) => {
    await server.respond();
    server.monitors = monitors;
    server.compare(LATER);
    await server.respond();
    expect(server.queryClient.getQueryData(monitorsQuery.queryKey)).toEqual(monitors);
    expect(server.corrections).toBe(0);
  });

  test('a list that was read after a digest is not compared', async () => {
    await server.respond();
    server.monitors = [{ ...monitorOf('a'), status: 'DOWN', statusSince: LATER }];
    for (const position of [EARLY, LATE]) server.compare(position);
    expect(server.responses).toEqual([]);
  });

  test('a list that is being loaded is not compared', async () => {
    await server.respond();
    server.monitors = [{ ...monitorOf('a'), status: 'DOWN', statusSince: LATER }];
    void server.queryClient.invalidateQueries();
    server.compare(LATEST);
    await server.respond();
    expect([server.responses.length, server.corrections]).toEqual([0, 0]);
  });
});
