import { expect, test } from '@jest/globals';
import { ApiError } from '../../../api/request.ts';
import { sendInChunks } from './send-in-chunks.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];
const refusal = (status: number, retryAfterMs: number | null = null): ApiError =>
  new ApiError({ status, title: '', detail: `status ${status}` }, retryAfterMs);

/**
 * Sends the ids two at a time. The log has the ids in each request, and `wait 5` for each pause.
 * @param respond returns the error for a request, by its number from 1. Null means that it succeeds
 */
async function run(
  respond: (request: number) => ApiError | null,
  controller = new AbortController(),
): Promise<{ log: string[]; sent: string[]; error: unknown }> {
  const log: string[] = [];
  const sent: string[] = [];
  let requests = 0;
  const send = async (ids: readonly string[]): Promise<void> => {
    log.push(ids.join(''));
    requests += 1;
    const failure = respond(requests);
    if (failure !== null) throw failure;
  };
  const error: unknown = await sendInChunks(IDS, send, {
    size: 2,
    signal: controller.signal,
    onSent: (ids) => sent.push(...ids),
    wait: async (ms) => void log.push(`wait ${ms}`),
  }).catch((failure: unknown) => failure);
  return { log, sent, error };
}

test.each<[string, ApiError | null, string, string, unknown]>([
  ['every id is sent once, in order', null, 'ab cd e', 'abcde', undefined],
  [
    'a chunk is sent again after the requested delay',
    refusal(429, 5),
    'ab cd wait 5 cd e',
    'abcde',
    undefined,
  ],
  [
    'the end of the session stops the work and reports the chunks that were sent',
    refusal(401),
    'ab cd',
    'ab',
    { status: 401 },
  ],
  [
    'without a response, the error says that repeating is safe',
    refusal(0),
    'ab cd',
    'ab',
    { message: expect.stringContaining('Repeating the request is safe') },
  ],
])('%s', async (_, second, log, sent, error) => {
  const ran = await run((request) => (request === 2 ? second : null));
  expect([ran.log.join(' '), ran.sent.join('')]).toEqual([log, sent]);
  expect({ error: ran.error }).toMatchObject({ error });
});

test('retries end even if the server always asks to wait', async () => {
  const { log, sent, error } = await run(() => refusal(429, 5));
  expect(log.filter((entry) => entry === 'ab')).toHaveLength(10);
  expect([sent, error]).toEqual([[], expect.objectContaining({ status: 429 })]);
});

test('after the signal no further chunk is sent', async () => {
  const controller = new AbortController();
  const abort = (request: number): null => {
    if (request === 2) controller.abort();
    return null;
  };
  const sent = ['a', 'b', 'c', 'd'];
  expect(await run(abort, controller)).toEqual({ log: ['ab', 'cd'], sent, error: undefined });
});
