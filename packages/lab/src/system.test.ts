import { expect, test } from '@jest/globals';
import { untilTriggered } from './system.ts';

/** Responds with these statuses, one after the other. */
function responding(...statuses: number[]): () => Promise<{ status: number }> {
  return async () => ({ status: statuses.shift() ?? 0 });
}

test('untilTriggered repeats a trigger after 503 and 504', async () => {
  expect(await untilTriggered(responding(504, 503, 200, 500))).toEqual({ status: 200 });
});

test.each([202, 404, 429, 500])(
  'untilTriggered throws at once when the response has status %i',
  async (status) => {
    await expect(untilTriggered(responding(504, status, 200))).rejects.toThrow(`has status ${status}`);
    const send = async (): Promise<Response> => new Response('why', { status });
    await expect(untilTriggered(send)).rejects.toThrow(`${status}: why`);
  },
);
