import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { createTestDatabase } from './database.ts';
import { createTestRedis } from './redis.ts';

async function tables(url: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from information_schema.tables where table_schema = 'public'`,
    );
    return rows[0]?.count ?? 0;
  } finally {
    await client.end();
  }
}

describe('createTestDatabase', () => {
  it('creates migrated databases, also concurrently, and drops them', async () => {
    const databases = await Promise.all([createTestDatabase(), createTestDatabase(), createTestDatabase()]);
    expect(new Set(databases.map(({ url }) => url)).size).toBe(3);
    for (const { url } of databases) expect(await tables(url)).toBeGreaterThan(5);
    await Promise.all(databases.map((database) => database.drop()));
    await expect(tables(databases[0].url)).rejects.toMatchObject({ code: '3D000' });
  });
});

describe('createTestRedis', () => {
  it('returns empty logical databases that are isolated from each other', async () => {
    const addresses = [await createTestRedis(), await createTestRedis()];
    const [first, second] = addresses.map(({ url }) => new Redis(url));
    try {
      await first?.set('key', 'value');
      expect(await second?.get('key')).toBeNull();
      expect(await first?.dbsize()).toBe(1);
    } finally {
      first?.disconnect();
      second?.disconnect();
    }
  });
});
