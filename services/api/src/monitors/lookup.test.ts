import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Event } from '@tocsin/contracts/monitors/events';
import { until } from '@tocsin/embedded/testing/until';
import { MONITORS, newMonitor, recordCheck } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const pathOf = (externalId: string): string => `${MONITORS}/by-external-id/${encodeURIComponent(externalId)}`;

describe('get a monitor by its externalId', () => {
  test.each([
    'shop',
    'shop/front',
    'a%2Fb',
    '?a=1#b',
    'Größe 東京 😀',
    'events',
    'trigger',
    ':externalId',
    "'--",
  ])('%s', async (externalId) => {
    const monitor = await newMonitor(api, { externalId });
    const response = await api.as(api.account.readKey).get(pathOf(externalId));
    expect([response.status, response.body]).toEqual([200, { monitor }]);
    const { etag } = (await api.as().get(`${MONITORS}/${monitor.id}`)).headers;
    expect(response.headers['etag']).toBe(etag);
  });

  test('distinguishes case, and finds neither ids nor monitors of other accounts', async () => {
    const { id } = await newMonitor(api, { externalId: 'Case' });
    await newMonitor(api, { externalId: 'theirs' }, api.other.key);
    for (const externalId of ['case', id, 'theirs', 'x'.repeat(1_000)]) {
      const { status, body } = await api.as().get(pathOf(externalId));
      expect([status, body]).toEqual([
        404,
        expect.objectContaining({ detail: 'There is no monitor with this externalId.' }),
      ]);
    }
  });

  test.each(['%00', 'a%00b', '%', '%FF', ''])('the path …/%s is not found', async (text) => {
    const { status, body } = await api.as().get(`${MONITORS}/by-external-id/${text}`);
    expect([status, body]).toEqual([404, expect.objectContaining({ type: 'urn:tocsin:problem:not-found' })]);
  });

  test('leads from a conflict to the monitor that has the externalId', async () => {
    const first = await newMonitor(api, { externalId: 'taken' });
    const second = await newMonitor(api);
    const update = await api.as().put(`${MONITORS}/${second.id}`).send({ externalId: 'taken' });
    expect([update.status, update.body]).toEqual([409, expect.objectContaining({ conflictingId: first.id })]);
  });
});

interface Page {
  readonly events: Event[];
  readonly cursor: string;
}

async function getEvents(query: string, key?: string): Promise<Page> {
  const { status, body } = await api.as(key).get(`/api/cli/events${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body as Page;
}

describe('tail the account', () => {
  test('begins now, and continues with each cursor', async () => {
    const [one, two] = [await newMonitor(api), await newMonitor(api)];
    await recordCheck(api, one.id);
    const begin = await getEvents('');
    await until('the next millisecond', async () => (await getEvents('')).cursor !== begin.cursor);
    const start = await getEvents('', api.account.readKey);
    expect(start.events).toEqual([]);
    const ids: string[] = [];
    for (const monitor of [one, two, two]) ids.push(await recordCheck(api, monitor.id));
    const seen: Event[] = [];
    let { cursor } = start;
    await until('three events', async () => {
      const page = await getEvents(`?limit=2&since=${cursor}`);
      expect(page.events.length).toBeLessThanOrEqual(2);
      seen.push(...page.events);
      ({ cursor } = page);
      return seen.length >= 3;
    });
    expect(seen.map(({ id }) => id)).toEqual(ids);
    const [listed] = (
      (await api.as().get(`${MONITORS}/${one.id}/events?limit=1`)).body as Pick<Page, 'events'>
    ).events;
    expect(seen[0]).toEqual(listed);
    expect((await getEvents(`?since=${cursor}`, api.other.key)).events).toEqual([]);
  });

  test.each([
    ['since=x', 'since', 'must be the `cursor` of an earlier response; leave it out to begin now'],
    ['since=', 'since', 'must be the `cursor` of an earlier response; leave it out to begin now'],
    [
      'since=2026-01-31T12:00:00Z',
      'since',
      'must be the `cursor` of an earlier response; leave it out to begin now',
    ],
    ['since=a&since=b', 'since', 'must be given only once'],
    ['limit=0', 'limit', 'must be an integer of at least 1'],
  ])('%s: 400 with what to send instead', async (query, path, message) => {
    const { status, body } = await api.as().get(`/api/cli/events?${query}`);
    expect([status, body]).toEqual([400, expect.objectContaining({ errors: [{ path, message }] })]);
  });
});
