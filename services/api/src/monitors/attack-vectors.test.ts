import { expect, test } from '@jest/globals';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { ATTACK_VECTORS } from '@tocsin/egress/testing/attack-vectors';
import type { AttackVector } from '@tocsin/egress/testing/attack-vectors/attack-vector';
import { useAttackGround } from '@tocsin/egress/testing/use-attack-ground';
import type { Response } from 'supertest';
import { CHANNELS, newChannel } from '../testing/channels.ts';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { signIn } from '../testing/sign-in.ts';
import { useTestApi } from '../testing/test-api.ts';

/** The api connects to nothing. */
const { ground, egress } = await useAttackGround([]);
const api = await useTestApi({ egress, producers: { addTrigger } });
const owner = await signIn(api);

/** The URLs of the triggers that were queued. No checker handles them. */
const queued: (string | null)[] = [];

async function addTrigger(_region: string, { triggerId }: { triggerId: string }): Promise<never> {
  const { rows } = await api.database.pool.query<{ url: string | null }>(
    'select url from triggers where id = $1',
    [triggerId],
  );
  queued.push(...rows.map(({ url }) => url));
  throw new Error('no queue');
}

/** Two of each outcome, from both ends of the catalogue. The tests of the guard itself use all of them. */
const SAMPLE = (['blocked', 'public', 'unknown name', 'no URL'] as const).flatMap((outcome) => {
  const vectors = ATTACK_VECTORS.filter((vector) => vector.outcome === outcome);
  return [vectors[0], vectors.at(-1)].filter((vector) => vector !== undefined);
});

/** Sends a request with each vector. @returns status codes by URL. Only an invalid URL gets a 400 */
async function outcomesOf(ask: (vector: AttackVector) => Promise<Response>): Promise<unknown[]> {
  const outcomes: unknown[] = [];
  for (const vector of SAMPLE) {
    const { status, body } = await ask(vector);
    if (status === 400) expect(body).toMatchObject({ errors: [{ path: 'url' }] });
    outcomes.push([vector.url, status]);
  }
  return outcomes;
}

const expected = (statusOf: (vector: AttackVector) => number): unknown[] =>
  SAMPLE.map((vector) => [vector.url, statusOf(vector)]);

// A blocked target is a check result, so only invalid URLs are rejected when a monitor is saved.
test('every URL of the catalogue is valid for a monitor, or not', () => {
  const accepted = ATTACK_VECTORS.filter(
    ({ url }) => createMonitorSchema.safeParse({ name: 'Attack', url: ground.url(url) }).success,
  );
  expect(accepted).toEqual(ATTACK_VECTORS.filter((vector) => vector.accepted));
});

test('monitors refuse only invalid URLs, on create, on update and to trigger a check', async () => {
  const { id } = await newMonitor(api);
  for (const [success, ask] of [
    [201, (url: string) => api.as().post(MONITORS).send({ name: 'Attack', url })],
    [200, (url: string) => api.as().put(`${MONITORS}/${id}`).send({ url })],
    [503, (url: string) => api.as().post(`${MONITORS}/${id}/trigger`).send({ url })],
  ] as const)
    expect(await outcomesOf(({ url }) => ask(ground.url(url)))).toEqual(
      expected(({ accepted }) => (accepted ? success : 400)),
    );
  const accepted = SAMPLE.filter((vector) => vector.accepted);
  expect(queued).toEqual(accepted.map(({ url }) => ground.url(url)));
});

test('channels also refuse receivers that the guard blocks, and plain http', async () => {
  const { channel } = await newChannel(owner, { url: 'https://public.attack.test/' });
  const create = (url: string) => owner.post(CHANNELS).send({ name: 'Attack', url, monitorIds: [] });
  const isReceiver = ({ url, outcome, accepted }: AttackVector): boolean =>
    accepted && outcome !== 'blocked' && ground.secureUrl(url) !== ground.url(url);
  const update = (url: string) => owner.patch(`${CHANNELS}/${channel.id}`).send({ url });
  expect(await outcomesOf(({ url }) => create(ground.secureUrl(url)))).toEqual(
    expected((vector) => (isReceiver(vector) ? 201 : 400)),
  );
  expect(await outcomesOf(({ url }) => update(ground.secureUrl(url)))).toEqual(
    expected((vector) => (isReceiver(vector) ? 200 : 400)),
  );
  expect(await outcomesOf(({ url }) => create(ground.url(url)))).toEqual(expected(() => 400));
});
