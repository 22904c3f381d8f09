import { expect, test } from '@jest/globals';
import { untilTriggered } from './system.ts';

/** Answers with these statuses, one after the other. */
function answering(...statuses: number[]): () => Promise<{ status: number }> {
  return async () => ({ status: statuses.shift() ?? 0 });
}

test('a trigger is sent again after 503 and 504', async () => {
  expect(await untilTriggered(answering(504, 503, 200, 500))).toEqual({ status: 200 });
});

test.each([202, 404, 429, 500])('a trigger that is answered with %i is an error at once', async (status) => {
  await expect(untilTriggered(answering(504, status, 200))).rejects.toThrow(`answered with ${status}`);
  const send = async (): Promise<Response> => new Response('why', { status });
  await expect(untilTriggered(send)).rejects.toThrow(`${status}: why`);
});
