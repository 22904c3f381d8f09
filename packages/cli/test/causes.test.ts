import { expect, test } from '@jest/globals';
import { eventText } from '@tocsin-monitor/cli/commands/events';
import { listMonitors } from '@tocsin-monitor/cli/commands/monitors';
import { showResponse } from '@tocsin-monitor/cli/commands/response';
import type { EventResponse } from '@tocsin/contracts/monitors/events';
import picocolors from 'picocolors';
import { at, eventOf, monitorOf } from './fake-api.ts';
import { fakeTerminal } from './fake-terminal.ts';

const colors = picocolors.createColors(false);

test('monitors says why monitors are DOWN', async () => {
  const [up, down] = [monitorOf('a', null), monitorOf('b', null)];
  const list = async (...monitors: (typeof up)[]): Promise<string[]> => {
    const terminal = fakeTerminal('/');
    await listMonitors({ listMonitors: () => Promise.resolve(monitors) }, terminal, {});
    return terminal.printed;
  };
  const cause = 'name b.example does not exist\u001b[2J (ENOTFOUND)';
  const lines = await list(up, { ...down, status: 'DOWN', errorDetail: cause });
  expect(lines[0]).toMatch(/LABELS  CAUSE$/);
  expect(lines[2]).toMatch(/^DOWN .*  name b\.example does not exist\ufffd\[2J \(ENOTFOUND\)$/);
  expect((await list(up))[0]).toMatch(/LABELS$/);
});

test('an event says why the check failed, and whether it is inconclusive', () => {
  const failed = {
    ...eventOf('a', 1, 'DOWN'),
    errorReason: 'TIMEOUT',
    errorDetail: 'connection timed out after 10 s',
  };
  expect(eventText(failed, colors)).toMatch(/  a  TIMEOUT: connection timed out after 10 s$/);
  expect(eventText({ ...failed, inconclusive: true }, colors)).toMatch(
    /  a  inconclusive: the region has no network \(TIMEOUT: connection timed out after 10 s\)$/,
  );
});

function apiWith(response: EventResponse) {
  const asked: string[] = [];
  return {
    asked,
    listMonitors: () => Promise.resolve([monitorOf('a', null)]),
    listEvents: () =>
      Promise.resolve([1, 2, 3, 4].map((second) => ({ ...eventOf('a', second), hasResponse: second < 3 }))),
    getEventResponse: (id: string, timestamp: string) => {
      asked.push(`${id} ${timestamp}`);
      return Promise.resolve(response);
    },
  };
}

const RESPONSE = { statusCode: 503, headers: { 'retry-after': '30' }, body: 'not\tnow\u202e\nlater' };

test('response prints the latest response that was kept, or that of an event', async () => {
  const api = apiWith(RESPONSE);
  const terminal = fakeTerminal('/');
  expect(await showResponse(api, terminal, 'a', undefined, {})).toBe(0);
  expect(terminal.printed).toEqual(['HTTP 503', 'retry-after: 30', '', 'not  now\ufffd', 'later']);
  await showResponse(api, terminal, 'a', at(1), {});
  expect(api.asked).toEqual([`a ${at(2)}`, `a ${at(1)}`]);
});

test('response prints JSON, and leaves out a body that was not read', async () => {
  const terminal = fakeTerminal('/');
  await showResponse(apiWith(RESPONSE), terminal, 'a', undefined, { json: true });
  expect(JSON.parse(terminal.printed.join('\n'))).toEqual({ response: RESPONSE });
  const bare = fakeTerminal('/');
  await showResponse(apiWith({ ...RESPONSE, body: null }), bare, 'a', undefined, {});
  expect(bare.printed).toEqual(['HTTP 503', 'retry-after: 30']);
});

test('response fails if no event has kept one', async () => {
  const api = { ...apiWith(RESPONSE), listEvents: () => Promise.resolve([eventOf('a', 1)]) };
  await expect(showResponse(api, fakeTerminal('/'), 'a', undefined, {})).rejects.toThrow(
    'None of the last 1 events of "a" has kept its response.',
  );
});
