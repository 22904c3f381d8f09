import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { takeTrigger } from '@tocsin/db/triggers/triggers';
import { createEgress } from '@tocsin/egress/create-egress';
import { AttackGround } from '@tocsin/egress/testing/attack-ground';
import { halfByKind, vectorsByKind } from '@tocsin/egress/testing/attack-vectors';
import type { AttackVector } from '@tocsin/egress/testing/attack-vectors/attack-vector';
import { PUBLIC_ADDRESS } from '@tocsin/egress/testing/attack-vectors/hostile-names';
import type { Response } from 'supertest';
import type TestAgent from 'supertest/lib/agent.js';
import { CHANNELS, newChannel } from '../testing/channels.ts';
import { checkOf, MONITORS, newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';

/** Concurrent requests. */
const ABREAST = 12;

let ground: AttackGround;
let api: TestApi;
let owner: TestAgent;
/** A monitor that is updated and triggered, and a channel that is updated. */
let id: string;
let channelId: string;
beforeAll(async () => {
  ground = await AttackGround.open();
  api = await openTestApi({
    egress: createEgress({
      allowCidrs: [PUBLIC_ADDRESS],
      lookup: ground.dns.lookup,
      // Longer than any test runs, so that no DNS lookup times out.
      checkUrlLookupMs: 600_000,
    }),
    producers: { addTrigger, addStatusChanges: async () => undefined, addDeliveries: async () => undefined },
  });
  owner = await signIn(api);
  ({ id } = await newMonitor(api, { timeout: 60 }));
  const { channel } = await newChannel(owner, { url: 'https://public.attack.test/', allMonitors: false });
  channelId = channel.id;
});
afterAll(async () => {
  await api.close();
  await ground.close();
});
/** The api may connect only to servers of the test run. */
afterEach(() => {
  expect(ground.canaryConnections).toBe(0);
  expect(ground.watch.take()).toEqual([]);
});

let recorded: Promise<void> = Promise.resolve();

/** A checker that records results one by one without probing (the checker's own tests cover probes). */
function addTrigger(region: string, { triggerId }: { triggerId: string }): Promise<void> {
  const { db } = api.context;
  recorded = recorded.then(async () => {
    // On a slow machine, the trigger could have expired by now.
    const sql = `update triggers set not_after = now() + interval '1 hour' where id = $1`;
    await api.database.pool.query(sql, [triggerId]);
    const trigger = await takeTrigger(db, triggerId);
    if (trigger === null) return;
    const fields = { slot: null, source: 'trigger', triggerId, region, urlOverride: trigger.url } as const;
    await recordChecks(db, [checkOf(trigger.monitorId, fields)]);
  });
  return recorded;
}

/** The outcomes of one request for each vector, in their order. */
async function outcomesOf(
  vectors: readonly AttackVector[],
  ask: (vector: AttackVector) => Promise<Response>,
): Promise<{ url: string; status: number; faults: string[] }[]> {
  const all: { url: string; status: number; faults: string[] }[] = [];
  for (let from = 0; from < vectors.length; from += ABREAST) {
    const some = vectors.slice(from, from + ABREAST);
    const responses = await Promise.all(some.map((vector) => ask(vector)));
    for (const [index, { status, body }] of responses.entries()) {
      const { errors = [] } = body as { errors?: { path: string }[] };
      all.push({ url: some[index]?.url ?? '', status, faults: errors.map(({ path }) => path) });
    }
  }
  return all;
}

function expected(vectors: readonly AttackVector[], status: (vector: AttackVector) => number): unknown {
  return vectors.map((vector) => {
    const result = status(vector);
    return { url: vector.url, status: result, faults: result === 400 ? ['url'] : [] };
  });
}

/**
 * A third of each class, at least one: create, update and override validate URLs by the same rules and together cover the catalogue.
 */
function thirdByKind(third: 0 | 1 | 2): ReturnType<typeof vectorsByKind> {
  return vectorsByKind().map(([kind, , all]) => {
    const every = all.filter((_vector, index) => index % 3 === third);
    const vectors = every.length > 0 ? every : all.slice(0, 1);
    return [kind, vectors.length, vectors];
  });
}

describe('monitors', () => {
  // A blocked target is a result of its checks: the api refuses only invalid URLs.
  test.each(thirdByKind(0))('create, %s: %i vectors', async (_kind, _count, vectors) => {
    const seen = await outcomesOf(vectors, ({ url }) =>
      api
        .as()
        .post(MONITORS)
        .send({ name: 'Attack', url: ground.url(url) }),
    );
    expect(seen).toEqual(expected(vectors, ({ accepted }) => (accepted ? 201 : 400)));
  });

  test.each(thirdByKind(1))('update, %s: %i vectors', async (_kind, _count, vectors) => {
    const seen = await outcomesOf(vectors, ({ url }) =>
      api
        .as()
        .put(`${MONITORS}/${id}`)
        .send({ url: ground.url(url) }),
    );
    expect(seen).toEqual(expected(vectors, ({ accepted }) => (accepted ? 200 : 400)));
  });

  test.each(thirdByKind(2))('trigger override, %s: %i vectors', async (_kind, _count, vectors) => {
    const seen = await outcomesOf(vectors, ({ url }) =>
      api
        .as()
        .post(`${MONITORS}/${id}/trigger`)
        .send({ url: ground.url(url) }),
    );
    expect(seen).toEqual(expected(vectors, ({ accepted }) => (accepted ? 200 : 400)));
    const { rows } = await api.database.pool.query<{ url: string }>(
      'delete from events where monitor_id = $1 returning url',
      [id],
    );
    const recorded = rows.map(({ url }) => url).sort();
    expect(recorded).toEqual(
      vectors
        .filter(({ accepted }) => accepted)
        .map(({ url }) => ground.url(url))
        .sort(),
    );
  });
});

describe('channels', () => {
  /** A receiver that the guard blocks is refused at once, and so is every URL without https. */
  const isReceiver = ({ url, outcome, accepted }: AttackVector): boolean =>
    accepted && outcome !== 'blocked' && ground.secureUrl(url) !== ground.url(url);

  test.each(halfByKind('second'))(
    'create and update in turn, %s: %i vectors',
    async (_kind, _count, vectors) => {
      const created = new Set(vectors.filter((_vector, index) => index % 2 === 0));
      const seen = await outcomesOf(vectors, (vector) => {
        const url = ground.secureUrl(vector.url);
        return created.has(vector)
          ? owner.post(CHANNELS).send({ name: 'Attack', url, monitorIds: [] })
          : owner.patch(`${CHANNELS}/${channelId}`).send({ url });
      });
      const taken = (vector: AttackVector): number => (created.has(vector) ? 201 : 200);
      expect(seen).toEqual(expected(vectors, (vector) => (isReceiver(vector) ? taken(vector) : 400)));
    },
  );

  test('every class is refused over plain http, whatever its hosts', async () => {
    const firsts = vectorsByKind().flatMap(([, , vectors]) => vectors.slice(0, 1));
    const seen = await outcomesOf(firsts, ({ url }) =>
      owner.post(CHANNELS).send({ name: 'Attack', url: ground.url(url), monitorIds: [] }),
    );
    expect(seen).toEqual(expected(firsts, () => 400));
  });
});
