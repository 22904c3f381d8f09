import { expect, test } from '@jest/globals';
import { ApiError } from '../../../api/request.ts';
import { sendInChunks } from './send-in-chunks.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];
const refusal = (status: number, retryAfterMs: number | null = null): ApiError =>
  new ApiError({ status, title: '', detail: `status ${status}` }, retryAfterMs);

interface Run {
  /** The ids of each request, and `wait 5` for each pause. */
  readonly log: string[];
  readonly sent: string[];
  readonly error: unknown;
}

/** @param respond the error of a request, by its number from 1; null: it succeeds */
async function run(
  respond: (request: number) => ApiError | null,
  controller = new AbortController(),
): Promise<Run> {
  const log: string[] = [];
  const sent: string[] = [];
  let requests = 0;
  const error: unknown = await sendInChunks(
    IDS,
    async (ids) => {
      log.push(ids.join(''));
      requests += 1;
      const failure = respond(requests);
      if (failure !== null) throw failure;
    },
    {
      size: 2,
      signal: controller.signal,
      onSent: (ids) => sent.push(...ids),
      wait: async (ms) => void log.push(`wait ${ms}`),
    },
  ).then(
    () => null,
    (failure: unknown) => failure,
  );
  return { log, sent, error };
}

test('every id is sent once, in order', async () => {
  expect(await run(() => null)).toEqual({ log: ['ab', 'cd', 'e'], sent: IDS, error: null });
});

test('a chunk is sent again after the time that the server says', async () => {
  const { log, sent, error } = await run((request) => (request === 2 ? refusal(429, 5) : null));
  expect(log).toEqual(['ab', 'cd', 'wait 5', 'cd', 'e']);
  expect([sent, error]).toEqual([IDS, null]);
});

test('the session that ends in the middle stops the work, and what was sent is known', async () => {
  const { log, sent, error } = await run((request) => (request === 2 ? refusal(401) : null));
  expect([log, sent]).toEqual([
    ['ab', 'cd'],
    ['a', 'b'],
  ]);
  expect(error).toMatchObject({ status: 401 });
});

test('without a response, the error says that the work may be repeated', async () => {
  const { log, sent, error } = await run((request) => (request === 2 ? refusal(0) : null));
  expect([log, sent]).toEqual([
    ['ab', 'cd'],
    ['a', 'b'],
  ]);
  expect(error).toMatchObject({
    status: 0,
    message: expect.stringContaining('repeating the request is safe'),
  });
});

test('a server that always asks to wait does not keep the work going forever', async () => {
  const { log, sent, error } = await run(() => refusal(429, 5));
  expect(log.filter((entry) => entry === 'ab')).toHaveLength(10);
  expect([sent, error]).toEqual([[], expect.objectContaining({ status: 429 })]);
});

test('after the signal no further chunk is sent', async () => {
  const controller = new AbortController();
  const { log, sent, error } = await run((request) => {
    if (request === 2) controller.abort();
    return null;
  }, controller);
  expect([log, sent, error]).toEqual([['ab', 'cd'], ['a', 'b', 'c', 'd'], null]);
});
