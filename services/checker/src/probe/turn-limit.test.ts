import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { loopbackEgress } from '../testing/local-targets.ts';
import { Prober } from './probe.ts';
import { TurnLimit } from './turn-limit.ts';

function start(limit: TurnLimit): {
  readonly began: readonly number[];
  readonly take: (index: number) => void;
} {
  const began: number[] = [];
  const take = async (index: number): Promise<void> => {
    await limit.take();
    began.push(index);
  };
  return { began, take: (index) => void take(index) };
}

/** What begins in this turn and in the next ones. */
async function watchTurns(turns: number, began: readonly number[]): Promise<number[][]> {
  const byTurn: number[][] = [];
  for (let promises = 0; promises < 10; promises += 1) await Promise.resolve();
  for (let seen = 0; byTurn.length < turns; seen = began.length) {
    if (byTurn.length > 0) await nextTurn();
    byTurn.push(began.slice(seen));
  }
  return byTurn;
}

test('what does not fit into a turn begins in the next ones, in the order of the calls', async () => {
  const { began, take } = start(new TurnLimit(2));
  for (const index of [0, 1, 2, 3, 4]) take(index);
  expect(await watchTurns(4, began)).toEqual([[0, 1], [2, 3], [4], []]);
});

test('a later turn has room for as many again, without those that waited for it', async () => {
  const { began, take } = start(new TurnLimit(2));
  for (const index of [0, 1, 2]) take(index);
  expect(await watchTurns(2, began)).toEqual([[0, 1], [2]]);
  for (const index of [3, 4]) take(index);
  expect(began).toEqual([0, 1, 2]);
  expect(await watchTurns(3, began)).toEqual([[0, 1, 2, 3], [4], []]);
});

test('probes that are requested at once start in several turns', async () => {
  const opened: number[] = [];
  const egress = loopbackEgress();
  const connectionTo: typeof egress.connectionTo = (...origin) => {
    opened.push(opened.length);
    return egress.connectionTo(...origin);
  };
  const ending = new AbortController();
  const prober = new Prober({ egress: { ...egress, connectionTo }, signal: ending.signal });
  const target = {
    url: 'http://127.0.0.1:9/',
    method: 'GET',
    headers: null,
    body: null,
    assertions: null,
  } as const;
  const owner = { account: 'one', resource: 'one' };
  const probes = Array.from({ length: 120 }, () => prober.probe({ ...target, timeoutMs: 10_000, owner }));
  const outcomes = Promise.allSettled(probes);
  const byTurn = await watchTurns(4, opened);
  expect(byTurn.map(({ length }) => length)).toEqual([50, 50, 20, 0]);
  ending.abort();
  await outcomes;
});
