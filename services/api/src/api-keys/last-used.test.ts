import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { touchApiKeys } from '@tocsin/db/api-keys/api-keys';
import { until } from '@tocsin/embedded/testing/until';
import { createLogger, createSilentLogger } from '@tocsin/runtime/logger';
import { MONITORS } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { createLastUsedRecorder, type LastUsedRecorder } from './last-used.ts';

describe('the recorder', () => {
  test('writes the uses of a moment at once, and nothing without any', async () => {
    const writes: ReadonlyMap<string, Date>[] = [];
    const write = (batch: ReadonlyMap<string, Date>): Promise<void> =>
      Promise.resolve(void writes.push(batch));
    const recorder = createLastUsedRecorder(write, createSilentLogger(), 20);
    for (let index = 0; index < 1_000; index += 1) recorder.note(`key${index % 3}`);
    await until('a write', () => writes.length > 0);
    recorder.note('last');
    await recorder.stop();
    expect(writes.map((batch) => [...batch.keys()])).toEqual([['key0', 'key1', 'key2'], ['last']]);
  });

  test('logs a failure once, keeps unwritten uses, and never rejects', async () => {
    let log = '';
    const stream = new PassThrough().setEncoding('utf8').on('data', (text: string) => (log += text));
    const written: string[] = [];
    let failures = 0;
    const recorder = createLastUsedRecorder(
      (batch) => {
        if (failures < 3) {
          failures += 1;
          return Promise.reject(new Error('the database is unavailable'));
        }
        written.push(...batch.keys());
        return Promise.resolve();
      },
      createLogger({ service: 'test', format: 'json', stream }),
      10,
    );
    recorder.note('a');
    await until('two failures', () => failures >= 2);
    recorder.note('b');
    await until('both keys are written', () => written.length === 2);
    await recorder.stop();
    expect(written.toSorted()).toEqual(['a', 'b']);
    expect(log.match(/Could not record/g)).toHaveLength(1);
  });
});

describe('lastUsedAt', () => {
  let api: TestApi;
  let recorder: LastUsedRecorder;
  beforeAll(async () => {
    const lastUsed = { note: (id: string) => recorder.note(id) };
    api = await openTestApi({ lastUsed });
    recorder = createLastUsedRecorder(
      (times) => touchApiKeys(api.context.db, times),
      createSilentLogger(),
      50,
    );
  });
  afterAll(async () => {
    await recorder.stop();
    await api.close();
  });

  async function lastUsedAt(): Promise<(Date | null)[]> {
    const { rows } = await api.database.pool.query<{ last_used_at: Date | null }>(
      'select last_used_at from api_keys where account_id = $1 order by name',
      [api.account.id],
    );
    return rows.map((row) => row.last_used_at);
  }

  test('is written soon after a use, even if the response is an error', async () => {
    expect(await lastUsedAt()).toEqual([null, null]);
    const before = Date.now();
    expect((await api.as().get(`${MONITORS}/no-id`)).status).toBe(404);
    const [both] = await until('the use is written', async () =>
      (await lastUsedAt())[0] === null ? null : lastUsedAt(),
    );
    expect(both?.getTime()).toBeGreaterThanOrEqual(before);
    expect((await lastUsedAt())[1]).toBeNull();
  });

  test('stays unset for a key that was refused', async () => {
    const { id, key } = await api.newKey('read,write', new Date(Date.now() - 1_000));
    expect((await api.as(key).get(MONITORS)).status).toBe(401);
    await recorder.stop();
    const { rows } = await api.database.pool.query('select last_used_at from api_keys where id = $1', [id]);
    expect(rows).toEqual([{ last_used_at: null }]);
  });
});
