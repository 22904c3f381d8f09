import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateApiKey, hashToken } from '@tocsin/core/secrets/tokens';
import { deleteApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createLogger, type Logger } from '@tocsin/runtime/logger';
import { MONITORS } from '../testing/monitors.ts';
import { openTestApi, type TestApi } from '../testing/test-api.ts';
import { ensureApiKeys } from './bootstrap.ts';

let api: TestApi;
let log = '';
let logger: Logger;
beforeAll(async () => {
  const stream = new PassThrough().setEncoding('utf8').on('data', (text: string) => (log += text));
  logger = createLogger({ service: 'test', format: 'json', stream });
  api = await openTestApi();
});
afterAll(() => api.close());

const KEYS = { BOOTSTRAP_API_KEY: generateApiKey(), BOOTSTRAP_READ_KEY: generateApiKey() };

async function statuses(key: string): Promise<number[]> {
  const read = await api.as(key).get(MONITORS);
  const written = await api.as(key).post(MONITORS).send({ name: 'a', url: 'http://a.example' });
  return [read.status, written.status];
}

describe('the API keys of the settings', () => {
  test('exist after the start with their scopes on one account, even with several processes', async () => {
    await Promise.all([1, 2, 3].map(() => ensureApiKeys(api.context.db, KEYS, logger)));
    expect(await statuses(KEYS.BOOTSTRAP_API_KEY)).toEqual([200, 201]);
    expect(await statuses(KEYS.BOOTSTRAP_READ_KEY)).toEqual([200, 403]);
    const seen = await api.as(KEYS.BOOTSTRAP_READ_KEY).get(MONITORS);
    expect((seen.body as { monitors: unknown[] }).monitors).toHaveLength(1);
    expect(log.match(/Created the API key/g)).toHaveLength(2);
  });

  test('are not recreated once deleted: one warning, and the start continues', async () => {
    const { rows } = await api.database.pool.query<{ id: string; account_id: string }>(
      'select id, account_id from api_keys where hash = $1',
      [hashToken(KEYS.BOOTSTRAP_API_KEY)],
    );
    await deleteApiKey(api.context.db, systemActor(rows[0]?.account_id ?? ''), rows[0]?.id ?? '');
    log = '';
    await ensureApiKeys(api.context.db, KEYS, logger);
    expect(log.match(/"level":"warn"/g)).toHaveLength(1);
    expect(log).toContain('BOOTSTRAP_API_KEY was deleted');
    expect(log).not.toContain(KEYS.BOOTSTRAP_API_KEY);
    expect(await statuses(KEYS.BOOTSTRAP_API_KEY)).toEqual([401, 401]);
  });

  test('without any: only the account is created', async () => {
    log = '';
    await ensureApiKeys(api.context.db, {}, logger);
    expect(log).toBe('');
  });
});
