import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type ListedMaintenanceWindow,
  listedMaintenanceWindowSchema,
  type MaintenanceWindow,
  type MaintenanceWindowPreview,
  maintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { advanceWindows } from '@tocsin/db/maintenance-windows/advance-windows';
import { settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import type { Response } from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { checkOf, newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

const PATH = '/api/dashboard/maintenance-windows';
const HOUR_MS = 3_600_000;

let api: TestApi;
let agent: TestAgent;
let otherUser: TestAgent;
let monitorId: string;
beforeAll(async () => {
  api = await openTestApi();
  agent = await signIn(api);
  otherUser = await signIn(api, { accountId: api.other.id });
  monitorId = (await newMonitor(api)).id;
});
afterAll(() => api.close());

function inHours(hours: number): string {
  return new Date(Date.now() + hours * HOUR_MS).toISOString();
}

function bodyOf(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'Upgrade',
    startsAt: inHours(1),
    endsAt: inHours(2),
    monitorIds: [monitorId],
    ...fields,
  };
}

async function create(fields: Record<string, unknown> = {}): Promise<MaintenanceWindow> {
  const response = await agent.post(PATH).send(bodyOf(fields));
  if (response.status !== 201) throw new Error(`not created: ${JSON.stringify(response.body)}`);
  return (response.body as { maintenanceWindow: MaintenanceWindow }).maintenanceWindow;
}

/** The field errors of a response, by path. */
function faults(response: { body: unknown }): string[] {
  const { errors = [] } = response.body as { errors?: { path: string }[] };
  return errors.map(({ path }) => path);
}

async function tick(): Promise<void> {
  await advanceWindows(api.context.db);
  while ((await settleMaintenance(api.context.db)).monitors > 0);
}

async function statusOf(id: string): Promise<unknown> {
  const response = await agent.get(`/api/dashboard/monitors/${id}`);
  return (response.body as { monitor: { status: string } }).monitor.status;
}

describe('POST', () => {
  test('plans a window that takes place once', async () => {
    const body = bodyOf();
    const response = await agent.post(PATH).send(body);
    expect(response.status).toBe(201);
    const { maintenanceWindow } = response.body as { maintenanceWindow: MaintenanceWindow };
    expect(response.headers['location']).toBe(`${PATH}/${maintenanceWindow.id}`);
    expect(maintenanceWindowSchema.parse(maintenanceWindow)).toEqual({
      ...body,
      id: expect.any(String),
      selector: null,
      allMonitors: false,
      sources: null,
      rrule: null,
      timeZone: 'UTC',
      state: 'scheduled',
      currentOccurrence: null,
      nextOccurrence: { startsAt: body['startsAt'], endsAt: body['endsAt'] },
      upcoming: [{ startsAt: body['startsAt'], endsAt: body['endsAt'] }],
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
  });

  test('plans a recurring window, and returns the next five occurrences in its time zone', async () => {
    const window = await create({
      startsAt: '2026-03-27T22:00:00+01:00',
      endsAt: '2026-03-27T23:00:00+01:00',
      rrule: 'FREQ=DAILY',
      timeZone: 'Europe/Berlin',
    });
    expect(window).toMatchObject({ startsAt: '2026-03-27T21:00:00.000Z', rrule: 'FREQ=DAILY' });
    expect(window.upcoming).toHaveLength(5);
    for (const { startsAt, endsAt } of window.upcoming) {
      const local = new Intl.DateTimeFormat('en', { timeZone: 'Europe/Berlin', timeStyle: 'short' });
      expect(local.format(new Date(startsAt)).replace(/\s/u, ' ')).toBe('10:00 PM');
      expect(Date.parse(endsAt) - Date.parse(startsAt)).toBe(HOUR_MS);
      expect(Date.parse(endsAt)).toBeGreaterThan(Date.now());
    }
  });

  test('a window that has begun already runs after the next run of the clock', async () => {
    const { id } = await newMonitor(api);
    const window = await create({ startsAt: inHours(-1), monitorIds: [id.toUpperCase()] });
    expect(window).toMatchObject({ state: 'scheduled', monitorIds: [id] });
    await tick();
    const response = await agent.get(`${PATH}/${window.id}`);
    expect(response.body).toMatchObject({
      maintenanceWindow: {
        state: 'running',
        currentOccurrence: { startsAt: window.startsAt, endsAt: window.endsAt },
        nextOccurrence: null,
        upcoming: [],
      },
    });
    expect(await statusOf(id)).toBe('MAINTENANCE');
  });

  test.each<[string, Record<string, unknown>, string[]]>([
    [
      'nothing',
      { name: undefined, startsAt: undefined, endsAt: undefined, monitorIds: undefined },
      ['name', 'startsAt', 'endsAt', 'monitorIds'],
    ],
    ['a blank name', { name: ' ' }, ['name']],
    ['an unknown key', { timezone: 'UTC' }, ['timezone']],
    ['a date without time', { startsAt: '2026-01-01' }, ['startsAt']],
    ['a number as time', { endsAt: 1_800_000_000 }, ['endsAt']],
    ['an end before the start', { endsAt: inHours(0.5) }, ['endsAt']],
    ['more than 30 days', { endsAt: inHours(1 + 30 * 24 + 1) }, ['endsAt']],
    ['one that is over', { startsAt: inHours(-3), endsAt: inHours(-2) }, ['endsAt']],
    ['no monitor', { monitorIds: [] }, ['monitorIds']],
    ['too many monitors', { monitorIds: Array.from({ length: 5_001 }, () => 'x') }, ['monitorIds']],
    ['a bad rule', { rrule: 'FREQ=NEVER' }, ['rrule']],
    ['a rule of minutes', { rrule: 'FREQ=MINUTELY' }, ['rrule']],
    ['a rule with a NUL', { rrule: 'FREQ=DAILY\0' }, ['rrule']],
    ['a rule tighter than the window', { rrule: 'FREQ=HOURLY', endsAt: inHours(3) }, ['rrule']],
    ['an unknown time zone', { timeZone: 'Mars/Olympus' }, ['timeZone']],
    ['null as time zone', { timeZone: null }, ['timeZone']],
    [
      'everything at once',
      { name: '', timeZone: 'x', rrule: 'FREQ=X', endsAt: inHours(0), extra: 1 },
      ['name', 'extra', 'timeZone', 'rrule', 'endsAt'],
    ],
  ])('refuses %s', async (what, fields, paths) => {
    const response = await agent.post(PATH).send(bodyOf(fields));
    expect(response.status).toBe(400);
    expect([...new Set(faults(response))].slice(0, paths.length === 1 ? 1 : undefined).toSorted()).toEqual(
      what === 'too many monitors' ? [expect.stringMatching(/^monitorIds/)] : paths.toSorted(),
    );
  });

  test('reports each monitor of another account, together with other errors', async () => {
    const othersMonitor = await newMonitor(api, {}, api.other.key);
    const monitorIds = [monitorId, othersMonitor.id, '01932f5e-0000-7000-8000-000000000000'];
    const response = await agent.post(PATH).send(bodyOf({ monitorIds, name: '' }));
    expect(response.status).toBe(400);
    expect(faults(response)).toEqual(['name', 'monitorIds.1', 'monitorIds.2']);
    const malformed = await agent.post(PATH).send(bodyOf({ monitorIds: [monitorId, 'x'] }));
    expect(faults(malformed)).toEqual(['monitorIds.1']);
    const twice = await agent.post(PATH).send(bodyOf({ monitorIds: [monitorId, monitorId] }));
    expect(faults(twice)).toEqual(['monitorIds']);
  });
});

/** A window as a list shows it. */
function listed(window: MaintenanceWindow): ListedMaintenanceWindow {
  const { upcoming: _, ...rest } = window;
  return rest;
}

describe('GET', () => {
  async function list(query = ''): Promise<unknown[]> {
    const response = await agent.get(`${PATH}${query}`);
    expect(response.status).toBe(200);
    const { maintenanceWindows } = response.body as { maintenanceWindows: unknown[] };
    return maintenanceWindows.map((window) => listedMaintenanceWindowSchema.parse(window));
  }

  test('lists the windows of the account only, newest first, in pages', async () => {
    const windows = [
      await create({ name: 'One' }),
      await create({ name: 'Two', rrule: 'FREQ=WEEKLY' }),
      await create({ name: 'Three' }),
    ].toReversed();
    expect((await list()).slice(0, 3)).toEqual(windows.map(listed));
    const page = await list('?limit=2');
    expect(page).toEqual(windows.slice(0, 2).map(listed));
    expect((await list(`?limit=1&before=${windows[1]?.id ?? ''}`))[0]).toEqual(
      windows.slice(2, 3).map(listed)[0],
    );
    expect((await otherUser.get(PATH)).body).toEqual({ maintenanceWindows: [] });
  });

  test('returns the stored occurrence: the running or the next one', async () => {
    const { id } = await newMonitor(api);
    const body = { startsAt: inHours(-1), monitorIds: [id], rrule: 'FREQ=DAILY' };
    const window = await create(body);
    await tick();
    expect((await list('?limit=1'))[0]).toEqual({
      ...listed(window),
      state: 'running',
      currentOccurrence: { startsAt: window.startsAt, endsAt: window.endsAt },
      nextOccurrence: null,
    });
    expect((await agent.delete(`${PATH}/${window.id}`)).status).toBe(204);
  });

  test('rejects invalid pages, including a cursor of another account', async () => {
    const { id } = await create();
    for (const query of ['limit=0', 'limit=x', 'before=x', `before=${monitorId}`]) {
      expect((await agent.get(`${PATH}?${query}`)).status).toBe(400);
    }
    const theirs = await otherUser.get(`${PATH}?before=${id}`);
    expect([theirs.status, faults(theirs)]).toEqual([400, ['before']]);
  });
});

describe('PATCH', () => {
  test('changes the given fields only', async () => {
    const window = await create({ rrule: 'FREQ=WEEKLY' });
    const other = await newMonitor(api);
    const response = await agent
      .patch(`${PATH}/${window.id}`)
      .send({ name: ' Renamed ', rrule: null, monitorIds: [other.id] });
    expect(response.status).toBe(200);
    expect(response.body).toEqual({
      maintenanceWindow: {
        ...window,
        name: 'Renamed',
        rrule: null,
        monitorIds: [other.id],
        upcoming: window.upcoming.slice(0, 1),
        updatedAt: expect.any(String),
      },
    });
    const same = await agent.patch(`${PATH}/${window.id}`).send({ name: 'Renamed' });
    expect(same.body).toEqual(response.body);
  });

  test('validates the merged window', async () => {
    const { id } = await create();
    const short = await agent.patch(`${PATH}/${id}`).send({ endsAt: inHours(0.5) });
    expect([short.status, faults(short)]).toEqual([400, ['endsAt']]);
    const all = await agent.patch(`${PATH}/${id}`).send({ endsAt: inHours(0.5), nmae: 'x', startsAt: null });
    expect([all.status, faults(all).toSorted()]).toEqual([400, ['endsAt', 'nmae', 'startsAt']]);
    const unknown = await agent.patch(`${PATH}/${id}`).send({ monitorIds: [id] });
    expect([unknown.status, faults(unknown)]).toEqual([400, ['monitorIds.0']]);
    const past = await agent.patch(`${PATH}/${id}`).send({ startsAt: inHours(-3), endsAt: inHours(-2) });
    expect([past.status, faults(past)]).toEqual([400, ['endsAt']]);
  });
});

test('DELETE removes a window and ends it at once if it is running', async () => {
  const { id: monitor } = await newMonitor(api);
  await recordChecks(api.context.db, [checkOf(monitor)]);
  const { id } = await create({ startsAt: inHours(-1), monitorIds: [monitor] });
  await tick();
  expect(await statusOf(monitor)).toBe('MAINTENANCE');
  expect((await agent.delete(`${PATH}/${id}`)).status).toBe(204);
  expect(await statusOf(monitor)).toBe('UP');
  expect((await agent.get(`${PATH}/${id}`)).status).toBe(404);
  expect((await agent.delete(`${PATH}/${id}`)).status).toBe(404);
});

describe('POST …/end', () => {
  const end = async (id: string): Promise<MaintenanceWindow> => {
    const response = await agent.post(`${PATH}/${id}/end`);
    expect(response.status).toBe(200);
    return (response.body as { maintenanceWindow: MaintenanceWindow }).maintenanceWindow;
  };

  test('ends the running occurrence at once, by the clock of the server', async () => {
    const { id: monitor } = await newMonitor(api);
    await recordChecks(api.context.db, [checkOf(monitor)]);
    const { id } = await create({ startsAt: inHours(-1), monitorIds: [monitor] });
    await tick();
    expect(await statusOf(monitor)).toBe('MAINTENANCE');
    const { rows } = await api.database.pool.query<{ now: Date }>('select clock_timestamp() as now');
    const ended = await end(id);
    expect(ended).toMatchObject({ state: 'ended', currentOccurrence: null, upcoming: [] });
    expect(Math.abs(Date.parse(ended.endsAt) - Number(rows[0]?.now))).toBeLessThan(HOUR_MS / 2);
    expect(await statusOf(monitor)).toBe('UP');
    expect(await end(id)).toEqual(ended);
  });

  test('continues a recurring window with its next occurrence; the clock does not begin the ended one again', async () => {
    const window = await create({ startsAt: inHours(-1), rrule: 'FREQ=DAILY;COUNT=9' });
    await tick();
    const ended = await end(window.id);
    expect(ended).toMatchObject({ state: 'scheduled', rrule: 'FREQ=DAILY;COUNT=8', currentOccurrence: null });
    expect(ended.upcoming.slice(0, 4)).toEqual(window.upcoming.slice(1));
    await tick();
    const renamed = await agent.patch(`${PATH}/${window.id}`).send({ timeZone: 'Europe/Berlin' });
    expect(renamed.body).toMatchObject({ maintenanceWindow: { state: 'scheduled' } });
  });

  test('an occurrence that is due but has not begun is skipped; a future one stays', async () => {
    const [due, later] = [await create({ startsAt: inHours(-1) }), await create()];
    expect(await end(due.id)).toMatchObject({ state: 'ended' });
    expect(await end(later.id)).toEqual(later);
  });
});

test('another account’s window is not found, even with an invalid body', async () => {
  const window = await create();
  for (const id of [window.id, 'no-id']) {
    const path = `${PATH}/${id}`;
    const who = id === window.id ? otherUser : agent;
    expect((await who.get(path)).status).toBe(404);
    expect((await who.patch(path).send({ name: 'Mine' })).status).toBe(404);
    expect((await who.patch(path).send({ nmae: 'Mine' })).status).toBe(404);
    expect((await who.post(`${path}/end`)).status).toBe(404);
    expect((await who.delete(path)).status).toBe(404);
  }
  const theirs = await agent.get(`${PATH}/${window.id}`);
  expect(theirs.body).toEqual({ maintenanceWindow: window });
});

test('without a session: 401, even with an API key; another method: 405', async () => {
  for (const key of [null, api.account.key]) {
    expect((await api.as(key).get(PATH)).status).toBe(401);
  }
  const response = await agent.put(PATH).send({});
  expect(response.status).toBe(405);
  expect(response.headers['allow']).toBe('GET, HEAD, POST');
});

describe('POST /preview', () => {
  const preview = async (fields: Record<string, unknown>, user = agent): Promise<Response> =>
    user.post(`${PATH}/preview`).send({ startsAt: inHours(1), endsAt: inHours(2), ...fields });

  test('returns the next five occurrences as creation plans them, and creates nothing', async () => {
    const rule = { rrule: 'FREQ=DAILY', timeZone: 'Europe/Berlin', startsAt: inHours(1), endsAt: inHours(2) };
    const before = await agent.get(PATH);
    const response = await preview(rule);
    expect([response.status, (await agent.get(PATH)).text]).toEqual([200, before.text]);
    const { occurrences, overlaps } = response.body as MaintenanceWindowPreview;
    expect(occurrences).toEqual((await create(rule)).upcoming);
    expect([occurrences.length, overlaps]).toEqual([5, []]);
  });

  test('returns other windows that overlap on the same monitors', async () => {
    const { id: first } = await newMonitor(api);
    const { id: second } = await newMonitor(api);
    const times = { startsAt: inHours(1.5), endsAt: inHours(3) };
    const other = await create({ ...times, name: 'Backups', monitorIds: [first, second] });
    await create({ startsAt: inHours(5), endsAt: inHours(6), monitorIds: [first] });
    const monitorIds = [first, monitorId];
    const { overlaps } = (await preview({ monitorIds })).body as MaintenanceWindowPreview;
    const overlap = { name: 'Backups', startsAt: times.startsAt, monitorCount: 1 };
    expect(overlaps.filter(({ name }) => name === 'Backups')).toEqual([
      { maintenanceWindowId: other.id, ...overlap },
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
    const counts = async (fields: Record<string, unknown>): Promise<unknown[]> => {
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

  test.each([
    [{ rrule: 'FREQ=SECONDLY' }, ['rrule']],
    [{ timeZone: 'Mars/Base' }, ['timeZone']],
    [{ startsAt: 'tomorrow', monitorIds: ['x'] }, ['startsAt', 'monitorIds.0']],
    [{ startsAt: '2026-01-01T00:00:00Z', endsAt: '2026-01-01T01:00:00Z' }, ['endsAt']],
    [{ name: 'Upgrade' }, ['name']],
  ])('rejects %j as creation does', async (fields, paths) => {
    const response = await preview(fields);
    expect([response.status, faults(response).toSorted()]).toEqual([400, paths.toSorted()]);
  });

  test('returns the starts of the next year that clock changes affect', async () => {
    // In London there are a skipped and a repeated 01:30 within any 400 days.
    const start = new Date(inHours(48).replace(/T.*/, 'T01:30:00.000Z'));
    const { body } = await preview({
      startsAt: start.toISOString(),
      endsAt: new Date(start.getTime() + 3_600_000).toISOString(),
      rrule: 'FREQ=DAILY;BYHOUR=1;BYMINUTE=30',
      timeZone: 'Europe/London',
    });
    const { clockChanges } = body as MaintenanceWindowPreview;
    expect(new Set(clockChanges.map(({ occurs }) => occurs))).toEqual(new Set(['never', 'twice']));
    for (const { localTime } of clockChanges) expect(localTime).toMatch(/^20\d\d-(03|10)-[23]\dT01:30:00$/);
  });

  test('accepts a past schedule of an edited window', async () => {
    const past = { startsAt: '2026-01-01T00:00:00Z', endsAt: '2026-01-01T01:00:00Z' };
    const { id } = await create();
    const response = await preview({ ...past, maintenanceWindowId: id });
    expect([response.status, response.body]).toEqual([
      200,
      { occurrences: [], clockChanges: [], overlaps: [] },
    ]);
  });
});
