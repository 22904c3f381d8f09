import { beforeEach, expect, test } from '@jest/globals';
import {
  type AgentMessage,
  MAX_AGENT_FRAME_BYTES,
  MAX_MESSAGES_PER_FRAME,
  parseAgentMessage,
} from '@tocsin/contracts/agents/protocol';
import { Results } from './results.ts';

let results: Results;
beforeEach(() => {
  results = new Results();
});

function add(
  id: string,
  { ticket = `ticket of ${id}` as string | null, body = null as string | null } = {},
): void {
  const timings = { dns: null, tcp: 1, tls: null, firstByte: 2, download: null };
  results.add(
    {
      id,
      ticket,
      status: 'DOWN',
      latencyMs: 3,
      statusCode: 500,
      errorReason: 'HTTP_500',
      errorDetail: null,
      timings,
      certificateExpiresAt: null,
      transportFailure: null,
      ownFailure: null,
      response: { headers: {}, body },
    },
    1_000,
  );
}

/** Takes all frames, as gateways read them. */
function takeAll(now = 1_000): Extract<AgentMessage, { type: 'results' }>[] {
  const messages = [];
  for (let frame = results.takeFrame(now); frame !== null; frame = results.takeFrame(now)) {
    expect(Buffer.byteLength(frame)).toBeLessThanOrEqual(MAX_AGENT_FRAME_BYTES);
    const message = parseAgentMessage(frame);
    if (message.type === 'results') messages.push(message);
  }
  return messages;
}

const ids = (): string[] => takeAll().flatMap((message) => message.results.map(({ id }) => id));

test('results are sent once on a connection, with their age', () => {
  add('one');
  const [message] = takeAll(1_250.4);
  expect(message?.results).toMatchObject([{ id: 'one', ticket: 'ticket of one', ageMs: 250 }]);
  expect(takeAll()).toEqual([]);
});

test('results with a ticket are sent again on each connection, until they are removed', () => {
  add('one');
  add('two');
  add('no-ticket', { ticket: null });
  expect(ids()).toEqual(['one', 'two', 'no-ticket']);
  results.resend();
  expect(ids()).toEqual(['one', 'two']);
  results.remove(['one', 'unknown']);
  results.resend();
  expect([ids(), results.kept]).toEqual([['two'], 1]);
});

test('repeated results wait for confirmations, but new ones do not', () => {
  for (let count = 0; count < 600; count += 1) add(`result-${count}`);
  expect(ids()).toHaveLength(600);
  results.resend();
  const repeated = ids();
  expect(repeated).toHaveLength(500);
  add('new');
  expect(ids()).toEqual(['new']);
  results.remove(repeated.slice(0, 70));
  expect(ids()).toHaveLength(70);
  results.remove(repeated.slice(70));
  expect(ids()).toHaveLength(30);
  results.resend();
  expect(ids()).toHaveLength(101);
});

test('an outage of hours does not make a result invalid', () => {
  add('one');
  expect(takeAll(100_000_000)[0]?.results[0]?.ageMs).toBe(3_600_000);
});

test('frames have a limited number of results', () => {
  for (let count = 0; count <= MAX_MESSAGES_PER_FRAME; count += 1) add(`result-${count}`);
  const messages = takeAll();
  expect(messages.length).toBeGreaterThan(1);
  expect(messages.flatMap((message) => message.results)).toHaveLength(MAX_MESSAGES_PER_FRAME + 1);
});

test('frames have a limited size', () => {
  // In JSON, each of these characters takes six bytes.
  const body = '\u0001'.repeat(4_096);
  for (let count = 0; count < 100; count += 1) add(`result-${count}`, { body });
  const messages = takeAll();
  expect(messages.length).toBeGreaterThan(2);
  expect(messages.flatMap((message) => message.results)).toHaveLength(100);
});

test('results that gateways refuse again and again are dropped', () => {
  add('one');
  expect([results.refuse(), results.refuse()]).toEqual([0, 0]);
  add('two');
  expect([results.refuse(), results.kept]).toEqual([1, 1]);
  results.resend();
  expect(ids()).toEqual(['two']);
});
