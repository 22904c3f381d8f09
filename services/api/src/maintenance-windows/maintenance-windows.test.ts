import { describe, expect, jest, test } from '@jest/globals';
import {
  type ListedMaintenanceWindow,
  listedMaintenanceWindowSchema,
  type MaintenanceWindow,
  type MaintenanceWindowPreview,
  maintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import { until } from '@tocsin/embedded/testing/until';
import { createSilentLogger } from '@tocsin/runtime/logger';
import type { Response } from 'supertest';
import { newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';
import { startPlanningWindows } from './plan-windows.ts';

const PATH = '/api/dashboard/maintenance-windows';
const UNKNOWN = '01932f5e-0000-7000-8000-000000000000';
const HOUR_MS = 3_600_000;

const api = await useTestApi();
const agent = await signIn(api);
const otherUser = await signIn(api, { accountId: api.other.id });
const monitorId = (await newMonitor(api)).id;

type Fields = Record<string, unknown>;

function inHours(hours: number): string {
  return new Date(Date.now() + hours * HOUR_MS).toISOString();
}

function bodyOf(fields: Fields = {}): Fields {
  return { name: 'Upgrade', startsAt: inHours(1), endsAt: inHours(2), monitorIds: [monitorId], ...fields };
}

async function create(fields: Fields = {}): Promise<MaintenanceWindow> {
  const response = await agent.post(PATH).send(bodyOf(fields));
  if (response.status !== 201) throw new Error(`not created: ${response.text}`);
  return windowOf(response);
}

function windowOf({ body }: Response): MaintenanceWindow {
  return (body as { maintenanceWindow: MaintenanceWindow }).maintenanceWindow;
}

/** A window as a list shows it. */
function listed(window: MaintenanceWindow): ListedMaintenanceWindow {
  const { upcoming: _, ...rest } = window;
  return { ...rest, etag: expect.any(String) as unknown as string };
}

/** The status of a response and its field errors. */
function refusalOf({ status, body }: Response): [status: number, paths: string[]] {
  const { errors = [] } = body as { errors?: { path: string }[] };
  return [status, [...new Set(errors.map(({ path }) => path))].toSorted()];
}

/** Runs the clock of a notifier once. */
async function tick(): Promise<void> {
  await advanceWindows(api.context.db);
  while ((await settleMaintenance(api.context.db)).monitors > 0);
}

describe('POST', () => {
  test('plans a window that takes place once', async () => {
    const body = bodyOf();
    const response = await agent.post(PATH).send({ ...body, monitorIds: [monitorId.toUpperCase()] });
    expect(response.status).toBe(201);
    const window = windowOf(response);
    expect(response.headers['location']).toBe(`${PATH}/${window.id}`);
    const occurrence = { startsAt: body['startsAt'], endsAt: body['endsAt'] };
    expect(maintenanceWindowSchema.parse(window)).toMatchObject({
      ...body,
      sources: null,
      timeZone: 'UTC',
      state: 'scheduled',
      currentOccurrence: null,
      nextOccurrence: occurrence,
      upcoming: [occurrence],
    });
  });

  test('plans a recurring window in its time zone', async () => {
    const window = await create({
      startsAt: '2026-03-27T22:00:00+01:00',
      endsAt: '2026-03-27T23:00:00+01:00',
      rrule: 'FREQ=DAILY',
      timeZone: 'Europe/Berlin',
    });
    expect(window).toMatchObject({ startsAt: '2026-03-27T21:00:00.000Z', rrule: 'FREQ=DAILY' });
    const berlin = new Intl.DateTimeFormat('en', { timeZone: 'Europe/Berlin', hour: 'numeric' });
    const hours = window.upcoming.map(({ startsAt }) => berlin.format(new Date(startsAt)));
    expect(hours).toEqual(Array(5).fill(expect.stringMatching(/^10\sPM$/u)));
  });

  test('reports all invalid fields at once, including monitors of another account', async () => {
    const { id } = await newMonitor(api, {}, api.other.key);
    for (const [fields, paths] of [
      [
        { name: '', timeZone: 'x', rrule: 'FREQ=X', endsAt: inHours(0), extra: 1 },
        ['endsAt', 'extra', 'name', 'rrule', 'timeZone'],
      ],
      [{ startsAt: inHours(-3), endsAt: inHours(-2) }, ['endsAt']],
      [{ monitorIds: [] }, ['monitorIds']],
      [{ monitorIds: [monitorId, id, UNKNOWN], name: '' }, ['monitorIds.1', 'monitorIds.2', 'name']],
    ] as const)
      expect(refusalOf(await agent.post(PATH).send(bodyOf(fields)))).toEqual([400, paths]);
  });
});

describe('GET', () => {
  async function list(query = ''): Promise<unknown[]> {
    const response = await agent.get(`${PATH}${query}`);
    expect(response.status).toBe(200);
    const { maintenanceWindows } = response.body as { maintenanceWindows: unknown[] };
    return maintenanceWindows.map((window) => listedMaintenanceWindowSchema.parse(window));
  }

  test('lists the windows of the account only, newest first, in pages', async () => {
    const times = { startsAt: '2026-03-27T02:30:00+01:00', endsAt: '2026-03-27T03:30:00+01:00' };
    const nightly = await create({ ...times, rrule: 'FREQ=DAILY', timeZone: 'Europe/Berlin' });
    expect(new Set(nightly.clockChanges.map(({ occurs }) => occurs))).toEqual(new Set(['never', 'twice']));
    const windows = [await create(), nightly];
    expect(await list('?limit=2')).toEqual(windows.map(listed));
    expect(await list(`?limit=1&before=${windows[0]?.id ?? ''}`)).toEqual(windows.slice(1).map(listed));
    expect((await otherUser.get(PATH)).body).toEqual({ maintenanceWindows: [] });
    const theirs = await otherUser.get(`${PATH}?before=${windows[0]?.id ?? ''}`);
    expect(refusalOf(theirs)).toEqual([400, ['before']]);
  });

  test('returns the stored occurrence: the running or the next one', async () => {
    const window = await create({ startsAt: inHours(-1), rrule: 'FREQ=DAILY' });
    await tick();
    const currentOccurrence = { startsAt: window.startsAt, endsAt: window.endsAt };
    const running = { ...listed(window), state: 'running', currentOccurrence };
    expect(await list('?limit=1')).toEqual([{ ...running, nextOccurrence: null }]);
    expect(windowOf(await agent.get(`${PATH}/${window.id}`))).toMatchObject({ state: 'running' });
    expect((await agent.delete(`${PATH}/${window.id}`)).status).toBe(204);
    expect((await agent.delete(`${PATH}/${window.id}`)).status).toBe(404);
  });
});

describe('PATCH', () => {
  test('changes the given fields only', async () => {
    const window = await create({ rrule: 'FREQ=WEEKLY' });
    const other = await newMonitor(api);
    const path = `${PATH}/${window.id}`;
    const response = await agent.patch(path).send({ name: ' Renamed ', rrule: null, monitorIds: [other.id] });
    expect(response.body).toEqual({
      maintenanceWindow: {
        ...window,
        name: ' Renamed ',
        rrule: null,
        monitorIds: [other.id],
        upcoming: window.upcoming.slice(0, 1),
        updatedAt: expect.any(String),
      },
    });
    expect((await agent.patch(path).send({ name: ' Renamed ' })).body).toEqual(response.body);
  });

  test.each<[Fields, string[]]>([
    [{ endsAt: inHours(0.5) }, ['endsAt']],
    [{ endsAt: inHours(0.5), nmae: 'x', startsAt: null }, ['endsAt', 'nmae', 'startsAt']],
    [{ monitorIds: [UNKNOWN] }, ['monitorIds.0']],
  ])('validates the merged window: %j', async (fields, paths) => {
    const { id } = await create();
    expect(refusalOf(await agent.patch(`${PATH}/${id}`).send(fields))).toEqual([400, paths]);
  });
});

describe('POST …/end', () => {
  const end = async (id: string): Promise<MaintenanceWindow> =>
    windowOf(await agent.post(`${PATH}/${id}/end`).expect(200));

  test('ends the running occurrence, and does nothing when it is repeated', async () => {
    const window = await create({ startsAt: inHours(-1) });
    await tick();
    const ended = await end(window.id);
    expect(ended).toMatchObject({ state: 'ended', currentOccurrence: null, upcoming: [] });
    expect(Date.parse(ended.endsAt)).toBeLessThan(Date.parse(window.endsAt));
    expect(await end(window.id)).toEqual(ended);
  });

  test('continues a recurring window with its next occurrence, and the clock does not restart the ended one', async () => {
    const window = await create({ startsAt: inHours(-1), rrule: 'FREQ=DAILY;COUNT=9' });
    await tick();
    const ended = await end(window.id);
    expect(ended).toMatchObject({ state: 'scheduled', rrule: 'FREQ=DAILY;COUNT=8', currentOccurrence: null });
    expect(ended.upcoming.slice(0, 4)).toEqual(window.upcoming.slice(0, 4));
    await tick();
    const renamed = await agent.patch(`${PATH}/${window.id}`).send({ timeZone: 'Europe/Berlin' });
    expect(windowOf(renamed)).toMatchObject({ state: 'scheduled' });
  });

  test('skips an occurrence that is due but has not begun, and keeps a future one', async () => {
    const [due, later] = [await create({ startsAt: inHours(-1) }), await create()];
    expect(await end(due.id)).toMatchObject({ state: 'ended' });
    expect(await end(later.id)).toEqual(later);
  });
});

describe('POST /preview', () => {
  const preview = async (fields: Fields, user = agent): Promise<Response> =>
    user.post(`${PATH}/preview`).send({ startsAt: inHours(1), endsAt: inHours(2), ...fields });

  test('returns the next five occurrences as creation plans them', async () => {
    const rule = { rrule: 'FREQ=DAILY', timeZone: 'Europe/Berlin', startsAt: inHours(1), endsAt: inHours(2) };
    const { occurrences, overlaps } = (await preview(rule)).body as MaintenanceWindowPreview;
    expect(occurrences).toEqual((await create(rule)).upcoming);
    expect([occurrences.length, overlaps]).toEqual([5, []]);
  });

  test('returns other windows that overlap on the same monitors', async () => {
    const [{ id: first }, { id: second }] = [await newMonitor(api), await newMonitor(api)];
    const times = { startsAt: inHours(1.5), endsAt: inHours(3) };
    const other = await create({ ...times, name: 'Backups', monitorIds: [first, second] });
    await create({ startsAt: inHours(5), endsAt: inHours(6), monitorIds: [first] });
    const monitorIds = [first, monitorId];
    const { overlaps } = (await preview({ monitorIds })).body as MaintenanceWindowPreview;
    expect(overlaps.filter(({ name }) => name === 'Backups')).toEqual([
      { maintenanceWindowId: other.id, name: 'Backups', startsAt: times.startsAt, monitorCount: 1 },
    ]);
    const own = await preview({ monitorIds, maintenanceWindowId: other.id });
    expect(own.text).not.toContain(other.id);
    expect((await preview({ monitorIds }, otherUser)).body).toMatchObject({ overlaps: [] });
  });

  test('compares the monitors that a selector or allMonitors covers', async () => {
    const labels = { app: 'preview' };
    const selector = { matchLabels: labels };
    await newMonitor(api, { labels });
    const { id: matching } = await newMonitor(api, { labels });
    const { id: other } = await newMonitor(api);
    const times = { startsAt: inHours(1.5), endsAt: inHours(3) };
    const matched = await create({ ...times, monitorIds: [], selector });
    const listed = await create({ ...times, monitorIds: [matching, other] });
    const counts = async (fields: Fields): Promise<unknown[]> => {
      const { overlaps } = (await preview(fields)).body as MaintenanceWindowPreview;
      return [matched, listed].map(
        ({ id }) => overlaps.find(({ maintenanceWindowId }) => maintenanceWindowId === id)?.monitorCount,
      );
    };
    expect(await counts({ selector })).toEqual([2, 1]);
    expect(await counts({ monitorIds: [matching] })).toEqual([1, 1]);
    expect(await counts({ selector, monitorIds: [matching, other] })).toEqual([2, 2]);
    expect(await counts({ allMonitors: true })).toEqual([2, 2]);
    expect(await counts({ selector, maintenanceWindowId: matched.id })).toEqual([undefined, 1]);
    expect(await counts({ selector: { matchLabels: { app: 'none' } } })).toEqual([undefined, undefined]);
  });

  test('validates as creation does, but accepts a past schedule of an edited window', async () => {
    const invalid = { name: 'x', rrule: 'FREQ=X', timeZone: 'x' };
    expect(refusalOf(await preview(invalid))).toEqual([400, ['name', 'rrule', 'timeZone']]);
    const past = { startsAt: '2026-01-01T00:00:00Z', endsAt: '2026-01-01T01:00:00Z' };
    expect(refusalOf(await preview(past))).toEqual([400, ['endsAt']]);
    const { id } = await create();
    expect((await preview({ ...past, maintenanceWindowId: id })).body).toEqual({
      occurrences: [],
      clockChanges: [],
      overlaps: [],
    });
  });
});

test('a window with an invalid rule is ended and logged', async () => {
  const { id } = await create({ rrule: 'FREQ=DAILY' });
  await api.database.pool.query(
    `update maintenance_windows set rrule = 'nonsense', occurrence_starts_at = now() - interval '2 hours',
      occurrence_ends_at = now() - interval '1 hour' where id = $1`,
    [id],
  );
  const logger = createSilentLogger();
  const error = jest.spyOn(logger, 'error');
  const loop = startPlanningWindows({ db: api.context.db, isLeader: () => true, logger });
  const ended = `select from maintenance_windows where id = $1 and state = 'ended'`;
  const isEnded = async () => (await api.database.pool.query(ended, [id])).rowCount === 1;
  try {
    await until('the window is ended', isEnded);
  } finally {
    await loop.stop();
  }
  expect(error.mock.calls).toEqual([
    ['Ended a maintenance window whose rule is no longer valid', { maintenanceWindowId: id }],
  ]);
});
