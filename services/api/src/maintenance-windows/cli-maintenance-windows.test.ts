import { describe, expect, test } from '@jest/globals';
import {
  type MaintenanceWindow,
  maintenanceWindowSchema,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { Response } from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { MONITORS, newMonitor, recordCheck } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';

const PATH = '/api/cli/maintenance-windows';
const DASHBOARD = '/api/dashboard/maintenance-windows';
const HOUR_MS = 3_600_000;

const api = await useTestApi();
const owner = await signIn(api);
const boundKey = (await api.newKey('read,write', null, ['shop', 'shop/*'])).key;
/** With a key that may change monitors of the sources `shop` and `shop/…`. */
const bound = api.as(boundKey);

const agentFor = async (source: string): Promise<TestAgent> =>
  api.as((await api.newKey('read,write', null, [source])).key);
const inHours = (hours: number): string => new Date(Date.now() + hours * HOUR_MS).toISOString();

function post(fields: object, agent: TestAgent = api.as()): Promise<Response> {
  return Promise.resolve(agent.post(PATH).send({ name: 'Deployment', durationSeconds: 3_600, ...fields }));
}

async function create(fields: object, agent?: TestAgent): Promise<MaintenanceWindow> {
  const response = await post(fields, agent);
  if (response.status !== 201) throw new Error(`not created: ${response.text}`);
  return windowOf(response);
}

function windowOf({ body }: Response): MaintenanceWindow {
  return (body as { maintenanceWindow: MaintenanceWindow }).maintenanceWindow;
}

/** The field errors of a response, by path. */
function faults({ body }: Response): string[] {
  return ((body as { errors?: { path: string }[] }).errors ?? []).map(({ path }) => path);
}

async function statusOf(id: string): Promise<string> {
  const { body } = await api.as().get(`${MONITORS}/${id}`);
  return (body as { monitor: Monitor }).monitor.status;
}

let labels = 0;
/** A label that no other monitor has, and the selector for it. */
function newLabel(): { labels: Record<string, string>; selector: object } {
  labels += 1;
  const own = { app: `app-${labels}` };
  return { labels: own, selector: { matchLabels: own } };
}

describe('POST', () => {
  test('without startsAt, runs from now on', async () => {
    const { id } = await newMonitor(api);
    const response = await post({ durationSeconds: 600, monitorIds: [id] });
    expect(response.status).toBe(201);
    const window = maintenanceWindowSchema.parse(windowOf(response));
    const { startsAt } = window;
    const occurrence = { startsAt, endsAt: new Date(Date.parse(startsAt) + 600_000).toISOString() };
    expect(response.body).toMatchObject({
      maintenanceWindow: {
        ...occurrence,
        sources: null,
        state: 'running',
        currentOccurrence: occurrence,
        nextOccurrence: null,
      },
      monitorCount: 1,
    });
    expect(response.headers['location']).toBe(`${PATH}/${window.id}`);
    expect(await statusOf(id)).toBe('MAINTENANCE');
  });

  test('takes monitors by id, by externalId and by selector, each once', async () => {
    const { labels, selector } = newLabel();
    const [byId, byExternalId, both] = [
      await newMonitor(api),
      await newMonitor(api, { externalId: 'named' }),
      await newMonitor(api, { externalId: 'both', labels }),
    ];
    await newMonitor(api, { labels });
    const response = await post({
      monitorIds: [byId.id, both.id],
      externalIds: ['named', 'both', 'named'],
      selector,
    });
    expect(response.body).toMatchObject({ monitorCount: 4 });
    expect(windowOf(response).monitorIds).toEqual([byId.id, byExternalId.id, both.id].toSorted());
  });

  test('the same request with the same Idempotency-Key creates one window', async () => {
    const { id } = await newMonitor(api);
    const send = (fields: object = {}, key = api.account.key): Promise<Response> =>
      post({ monitorIds: [id], ...fields }, api.as(key).set('Idempotency-Key', 'deploy-1'));
    const first = await send();
    const second = await send();
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect((await send({ durationSeconds: 60 })).status).toBe(422);
    expect((await send({}, boundKey)).status).toBe(422);
    const windows = 'select from maintenance_window_monitors where monitor_id = $1';
    expect((await api.database.pool.query(windows, [id])).rowCount).toBe(1);
  });

  test('reports monitors of other accounts like unknown ones', async () => {
    const { id } = await newMonitor(api, { externalId: 'theirs' }, api.other.key);
    const response = await post({ monitorIds: [id], externalIds: ['theirs'] });
    expect([response.status, faults(response)]).toEqual([400, ['monitorIds.0', 'externalIds.0']]);
  });
});

test.each([
  ['POST …/end in the dashboard', (id: string) => owner.post(`${DASHBOARD}/${id}/end`), 200],
  ['DELETE by key', (id: string) => api.as().delete(`${PATH}/${id}`), 204],
])('%s ends the maintenance of matched monitors at once', async (_, send, success) => {
  const { labels, selector } = newLabel();
  const { id } = await newMonitor(api, { labels });
  await recordCheck(api, id);
  const window = await create({ selector });
  expect(await statusOf(id)).toBe('MAINTENANCE');
  expect((await send(window.id)).status).toBe(success);
  expect(await statusOf(id)).toBe('UP');
});

describe('a key that is bound to sources', () => {
  const notAllowed = { type: 'urn:tocsin:problem:source-not-allowed' };

  test('may name only monitors from its sources', async () => {
    const own = await newMonitor(api, { source: 'shop/api', externalId: 'shop-api' });
    const blog = await newMonitor(api, { source: 'blog', externalId: 'blog' });
    const none = await newMonitor(api);
    for (const fields of [{ monitorIds: [own.id] }, { externalIds: ['shop-api'] }]) {
      expect(await create(fields, bound)).toMatchObject({
        monitorIds: [own.id],
        sources: ['shop', 'shop/*'],
      });
    }
    for (const fields of [
      { monitorIds: [own.id, blog.id] },
      { externalIds: ['shop-api', 'blog'] },
      { monitorIds: [none.id] },
    ]) {
      const response = await post(fields, bound);
      expect([response.status, response.body]).toEqual([403, expect.objectContaining(notAllowed)]);
    }
    expect([await statusOf(blog.id), await statusOf(none.id)]).toEqual(['PENDING', 'PENDING']);
  });

  test('covers by selector, or with allMonitors, only monitors from its sources, even when monitors move between sources', async () => {
    const { labels, selector } = newLabel();
    const own = await newMonitor(api, { source: 'shop', labels });
    const blog = await newMonitor(api, { source: 'blog', labels });
    const windows = [];
    for (const scope of [{ selector }, { allMonitors: true }]) {
      windows.push(await create(scope, bound));
      expect([await statusOf(own.id), await statusOf(blog.id)]).toEqual(['MAINTENANCE', 'PENDING']);
    }
    await api.as().put(`${MONITORS}/${own.id}`).send({ source: 'blog' });
    await api.as().put(`${MONITORS}/${blog.id}`).send({ source: 'shop' });
    const { rows } = await api.database.pool.query<{ monitor_id: string }>(
      'select distinct monitor_id from maintenance_window_monitors where window_id = any($1) and monitor_id = any($2)',
      [windows.map(({ id }) => id), [own.id, blog.id]],
    );
    expect(rows).toEqual([{ monitor_id: blog.id }]);
  });

  test('may end and delete its own windows, and windows that list only monitors from its sources', async () => {
    const own = await newMonitor(api, { source: 'shop' });
    const planned = { name: 'Planned', startsAt: inHours(1), endsAt: inHours(2), monitorIds: [own.id] };
    const windows = [
      await create({ monitorIds: [own.id] }, bound),
      await create({ allMonitors: true }, bound),
      await create({ allMonitors: true }, await agentFor('shop/ui')),
      windowOf(await owner.post(DASHBOARD).send(planned)),
    ];
    for (const { id } of windows) {
      expect((await bound.post(`${PATH}/${id}/end`)).status).toBe(200);
      expect((await bound.delete(`${PATH}/${id}`)).status).toBe(204);
    }
  });

  test('may not end or delete any other window, and nothing is written', async () => {
    const { labels, selector } = newLabel();
    const own = await newMonitor(api, { source: 'shop', labels });
    const gone = await newMonitor(api, { source: 'shop' });
    const blog = await newMonitor(api, { source: 'blog' });
    const windows = [
      await create({ monitorIds: [own.id, blog.id] }),
      await create({ selector }),
      await create({ allMonitors: true }),
      await create({ monitorIds: [own.id] }, bound),
      await create({ allMonitors: true }, await agentFor('shop*')),
      await create({ monitorIds: [gone.id] }),
    ];
    // A user adds a monitor from another source to a window that the key created.
    const added = { monitorIds: [own.id, blog.id] };
    expect((await owner.patch(`${DASHBOARD}/${windows[3]?.id ?? ''}`).send(added)).status).toBe(200);
    await api.as().delete(`${MONITORS}/${gone.id}`);
    const before = await api.as().get(PATH);
    for (const { id } of windows) {
      for (const request of [bound.post(`${PATH}/${id}/end`), bound.delete(`${PATH}/${id}`)]) {
        const response = await request;
        expect([response.status, response.body]).toEqual([403, expect.objectContaining(notAllowed)]);
      }
    }
    expect((await api.as().get(PATH)).body).toEqual(before.body);
  });
});
