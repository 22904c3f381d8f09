import { expect, test } from '@jest/globals';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createOutageWatch } from './outage-watch.ts';

test('an outage begins after two minutes without a response, and ends with the next one', async () => {
  let now = 0;
  const seen: string[] = [];
  const watch = createOutageWatch({
    begin: async (channelId) => void seen.push(`${now}: ${channelId} fails`),
    end: async () => {
      seen.push(`${now}: end`);
      if (now === 130_000) throw new Error('connection terminated');
    },
    logger: createSilentLogger(),
    now: () => now,
  });
  const attempts: [number, number | null][] = [
    [119_000, null],
    [121_000, null],
    [130_000, 503],
    [131_000, 200],
    [140_000, 200],
    [250_000, null],
    [261_000, null],
  ];
  for (const [time, statusCode] of attempts) {
    now = time;
    await watch('c', statusCode);
  }
  expect(seen).toEqual(['121000: c fails', '130000: end', '131000: end', '261000: c fails']);
});
