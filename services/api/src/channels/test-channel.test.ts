import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { channelTestSchema } from '@tocsin/contracts/deliveries/delivery';
import { until } from '@tocsin/embedded/testing/until';
import type TestAgent from 'supertest/lib/agent.js';
import { CHANNELS, newChannel } from '../testing/channels.ts';
import { attempt } from '../testing/fake-notifier.ts';
import { signIn } from '../testing/sign-in.ts';
import { stopClock, type StoppedClock } from '../testing/stopped-clock.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

let api: TestApi;
let user: TestAgent;
/** Handles a hint as a notifier does. */
let onHint: (ids: readonly string[]) => Promise<void> = () => Promise.resolve();
const shutdown = new AbortController();

beforeAll(async () => {
  api = await openTestApi({
    shutdown: shutdown.signal,
    producers: {
      addTrigger: () => Promise.resolve(),
      addStatusChanges: () => Promise.resolve(),
      addDeliveries: (ids) => onHint(ids),
    },
  });
  user = await signIn(api, { role: 'member' });
});
afterAll(() => api.close());

/** The api's deadlines pass only when a test advances this clock. */
let clock: StoppedClock;
let queries: { readonly mock: { readonly calls: readonly unknown[][] }; mockRestore(): void };
beforeEach(() => {
  clock = stopClock();
  queries = jest.spyOn(api.database.pool, 'query');
});
afterEach(() => {
  clock.restore();
  queries.mockRestore();
});

/** Waits until a request has polled more often than that for the outcome of its test event. @returns how often */
function looksForOutcome(moreThan: number): Promise<number> {
  return until('a request looks for the outcome of its test', () => {
    const polls = queries.mock.calls.filter(([query]) =>
      JSON.stringify(query).includes('left join \\"attempts\\"'),
    ).length;
    return polls > moreThan && polls;
  });
}

async function states(channelId: string): Promise<unknown[]> {
  const { body } = await user.get(`${CHANNELS}/${channelId}/deliveries`);
  return (body as { deliveries: { state: string; test: boolean }[] }).deliveries;
}

describe('testing a channel', () => {
  test.each([
    [204, true, null],
    [503, false, 'responded with 503'],
  ])('returns the outcome: %i', async (statusCode, delivered, error) => {
    onHint = (ids) => attempt(api, ids, statusCode);
    const { channel } = await newChannel(user);
    await user.patch(`${CHANNELS}/${channel.id}`).send({ enabled: false });
    const response = await user.post(`${CHANNELS}/${channel.id}/test`);
    expect(response.status).toBe(200);
    expect(channelTestSchema.parse(response.body)).toEqual({
      delivered,
      attempt: {
        statusCode,
        error,
        durationMs: 12,
        responseExcerpt: 'thanks',
        startedAt: expect.any(String),
      },
    });
    expect(await states(channel.id)).toMatchObject([
      { state: delivered ? 'delivered' : 'failed', test: true },
    ]);
  });

  test('rejects an unknown field before anything is sent', async () => {
    const { channel } = await newChannel(user);
    expect((await user.post(`${CHANNELS}/${channel.id}/test`).send({ event: 'x' })).status).toBe(400);
    expect(await states(channel.id)).toEqual([]);
  });

  test('without a notifier or a queue: 504 after ten seconds, and nothing is sent later', async () => {
    onHint = () => Promise.reject(new Error('no queue'));
    const { channel } = await newChannel(user);
    let allResponded = false;
    const pending = user.post(`${CHANNELS}/${channel.id}/test`).then((response) => {
      allResponded = true;
      return response;
    });
    const before = await looksForOutcome(0);
    clock.advance(9_999);
    await looksForOutcome(before + 2);
    expect(allResponded).toBe(false);
    clock.advance(1);
    const response = await pending;
    expect(response.status).toBe(504);
    expect(response.body).toMatchObject({ type: 'urn:tocsin:problem:delivery-not-attempted' });
    expect(await states(channel.id)).toMatchObject([
      { state: 'failed', nextAttemptAt: null, attemptCount: 0 },
    ]);
  });

  test('of a channel that is deleted meanwhile: 404; on a server that stops: 503', async () => {
    const { channel } = await newChannel(user);
    onHint = async () => void (await user.delete(`${CHANNELS}/${channel.id}`));
    expect((await user.post(`${CHANNELS}/${channel.id}/test`)).status).toBe(404);
    const { channel: other } = await newChannel(user);
    onHint = async () => shutdown.abort();
    expect((await user.post(`${CHANNELS}/${other.id}/test`)).status).toBe(503);
  });
});
