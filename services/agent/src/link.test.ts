import { beforeEach, describe, expect, test } from '@jest/globals';
import { fc } from '@tocsin/core/testing/fast-check';
import { Link, PING_EVERY_MS, type Proof } from './link.ts';

const LATER = Infinity;

let now: number;
let sent: { readonly ping: number; readonly at: number }[];
let deaths: number;
let link: Link;
beforeEach(() => {
  now = 0;
  sent = [];
  deaths = 0;
  link = createLink();
});

function createLink(): Link {
  return new Link({
    sendPing: (ping) => sent.push({ ping, at: now }),
    onDead: () => (deaths += 1),
    now: () => now,
  });
}

/** Pings regularly until a given time. Pongs arrive after the round trip. Packets wait until the end of a cut. */
function run(until: number, { roundTripMs = 10, cuts = [] as readonly Cut[] } = {}): void {
  for (; now < until; now += 1) {
    if (now % PING_EVERY_MS === 0) link.tick();
    const arrived = sent.filter(({ at }) => arrivesAt(at, roundTripMs, cuts) <= now);
    sent = sent.filter((ping) => !arrived.includes(ping));
    for (const { ping } of arrived) link.pong(ping);
  }
}

interface Cut {
  readonly from: number;
  readonly to: number;
}

function arrivesAt(sentAt: number, roundTripMs: number, cuts: readonly Cut[]): number {
  const cut = cuts.find(({ from, to }) => sentAt + roundTripMs > from && sentAt < to);
  return cut === undefined ? sentAt + roundTripMs : cut.to + roundTripMs;
}

/** Proves a probe that lasted until now. @returns null while the proof waits */
function prove(since: number, until = LATER): () => Proof | null {
  let proof: Proof | null = null;
  void link.prove(since, until).then((result) => (proof = result));
  // The next turn of the event loop does the same.
  link.tick();
  return () => proof;
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('a proof', () => {
  test('needs a pong to a ping that was sent after the probe', async () => {
    run(5_005);
    const proof = prove(1_000);
    run(5_012);
    await settle();
    expect(proof()).toBeNull();
    run(5_020);
    await settle();
    expect(proof()).toBe('unbroken');
  });

  test('is sent for all probes that fail in the same turn', async () => {
    run(1_100);
    const proofs = [link.prove(500, LATER), link.prove(600, LATER)];
    await settle();
    expect(sent).toHaveLength(1);
    run(1_120);
    expect(await Promise.all(proofs)).toEqual(['unbroken', 'unbroken']);
  });

  test('waits for the next regular ping while many are in flight', async () => {
    for (let count = 0; count < 20; count += 1) link.tick();
    void link.prove(0, LATER);
    await settle();
    expect(sent).toHaveLength(20);
  });

  test('is lost with the connection, even for later probes', async () => {
    run(1_000);
    const proof = prove(500);
    link.lose();
    await settle();
    expect(proof()).toBe('lost');
    expect(await link.prove(500, LATER)).toBe('lost');
    expect(await link.steady(LATER)).toBe('lost');
  });

  test('is lost if no pong arrives in time', async () => {
    run(1_000);
    const cuts = [{ from: 1_000, to: 9_000 }];
    const proof = prove(500, 3_000);
    run(2_900, { cuts });
    await settle();
    expect(proof()).toBeNull();
    run(3_300, { cuts });
    await settle();
    expect(proof()).toBe('lost');
  });

  test('is never unbroken for a probe that began before the first pong', async () => {
    run(5);
    const proof = prove(1);
    run(1_000);
    await settle();
    expect(proof()).toBe('interrupted');
  });

  test('accepts a pong that only responds to a later ping', async () => {
    run(1_000);
    const proof = prove(500);
    now += 10;
    link.tick();
    const last = sent.at(-1)?.ping ?? 0;
    link.pong(last);
    await settle();
    expect(proof()).toBe('unbroken');
    // Repeated and invalid pongs change nothing.
    link.pong(last);
    link.pong(Number.NaN);
  });
});

const roundTrips = fc.integer({ min: 1, max: 400 });
const moments = fc.integer({ min: 2_000, max: 20_000 });

async function proofOf(
  startedAt: number,
  endedAt: number,
  roundTripMs: number,
  cuts: readonly Cut[],
): Promise<Proof | null> {
  now = 0;
  sent = [];
  link = createLink();
  run(endedAt, { roundTripMs, cuts });
  const proof = prove(startedAt);
  run(now + 10_000, { roundTripMs, cuts });
  await settle();
  return proof();
}

test('without a cut, each proof is unbroken', async () => {
  await fc.assert(
    fc.asyncProperty(moments, fc.nat(15_000), roundTrips, async (startedAt, lasts, roundTripMs) => {
      expect(await proofOf(startedAt, startedAt + lasts, roundTripMs, [])).toBe('unbroken');
    }),
    { numRuns: 30 },
  );
});

test('no cut of a second during a probe goes unnoticed', async () => {
  const probes = fc.record({ startedAt: moments, lasts: fc.integer({ min: 0, max: 10_000 }) });
  const lengths = fc.integer({ min: 1_000, max: 4_000 });
  await fc.assert(
    fc.asyncProperty(
      probes,
      lengths,
      fc.nat(999),
      roundTrips,
      async ({ startedAt, lasts }, length, part, roundTripMs) => {
        const endedAt = startedAt + lasts;
        // The cut ends after the start of the probe and begins before its end.
        const from = startedAt - length + 1 + Math.floor(((lasts + length - 1) * part) / 999);
        const pause = length + PING_EVERY_MS;
        fc.pre(pause > 750 + roundTripMs);
        const proof = await proofOf(startedAt, endedAt, roundTripMs, [{ from, to: from + length }]);
        expect(proof).not.toBe('unbroken');
      },
    ),
    { numRuns: 60 },
  );
});

test('a shorter cut is noticed if a probe fails in it', async () => {
  const cuts = [{ from: 5_000, to: 5_400 }];
  expect(await proofOf(4_000, 5_100, 10, cuts)).toBe('interrupted');
  expect(await proofOf(4_000, 4_900, 10, cuts)).toBe('unbroken');
});

test('after an interruption, the link is steady once pongs arrive regularly', async () => {
  const cuts = [{ from: 2_000, to: 4_000 }];
  run(2_500, { cuts });
  let isSteady = false;
  void link.steady(LATER).then(() => (isSteady = true));
  run(4_490, { cuts });
  await settle();
  expect(isSteady).toBe(false);
  run(4_600, { cuts });
  await settle();
  expect(isSteady).toBe(true);
});

test('the usual round trip ignores stalls and follows a new route', () => {
  run(5_000, { roundTripMs: 10 });
  run(9_900, { roundTripMs: 10, cuts: [{ from: 5_000, to: 9_800 }] });
  expect(link.roundTripMs).toBeLessThan(20);
  run(120_000, { roundTripMs: 300 });
  expect(link.roundTripMs).toBe(300);
});

test('the time until the connection is open does not count as silence', () => {
  now = 9_000;
  link.open();
  run(13_750, { cuts: [{ from: 9_000, to: 60_000 }] });
  expect(deaths).toBe(0);
});

test('a connection without a pong for five seconds is dead', () => {
  run(2_000);
  run(7_000, { cuts: [{ from: 2_000, to: 60_000 }] });
  expect(deaths).toBe(0);
  run(7_500, { cuts: [{ from: 2_000, to: 60_000 }] });
  expect(deaths).toBeGreaterThan(0);
});
