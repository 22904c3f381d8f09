import { randomBytes } from 'node:crypto';
import { createMonitorSchema } from '@tocsin/contracts/monitor';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { ensureAccount } from '@tocsin/db/accounts/ensure-account';
import type { CheckRecord } from '@tocsin/db/checks/check-record';
import type { DbContext } from '@tocsin/db/database/context';
import { openDatabase } from '@tocsin/db/database/open';
import { createMonitor, type WrittenMonitor } from '@tocsin/db/monitors/create-monitor';

export interface TestContext extends DbContext {
  readonly url: string;
  readonly accountId: string;
  close(): Promise<void>;
}

/** A migrated database of its own with one account. */
export async function openTestContext(): Promise<TestContext> {
  const testDatabase = await createTestDatabase();
  const { url } = testDatabase;
  const database = openDatabase({
    url,
    poolSize: 10,
    applicationName: 'tocsin test',
    onIdleError: () => undefined,
  });
  const { id: accountId } = await ensureAccount(database.db);
  return {
    url,
    db: database.db,
    secrets: new SecretBox([randomBytes(32)]),
    accountId,
    close: async () => {
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** Creates a monitor of the test's account; the fields given replace the defaults. */
export async function makeMonitor(
  context: TestContext,
  fields: Record<string, unknown> = {},
): Promise<WrittenMonitor['monitor']> {
  const input = createMonitorSchema.parse({
    name: 'Shop',
    url: 'https://shop.example/health',
    runbookUrl: 'https://runbooks.example/shop',
    ...fields,
  });
  return (await createMonitor(context, context.accountId, input, 'default')).monitor;
}

let slot = 1_800_000_000_000;

/** A result in a slot of its own; the fields given replace those of a passing check. */
export function checkOf(monitorId: string, fields: Partial<CheckRecord> = {}): CheckRecord {
  slot += 1_000;
  return {
    monitorId,
    region: 'default',
    revision: 1,
    slot,
    source: 'schedule',
    triggerId: null,
    urlOverride: null,
    status: 'UP',
    latencyMs: 12,
    statusCode: 200,
    errorReason: null,
    errorDetail: null,
    timings: { dns: 1, tcp: 2, tls: 3, firstByte: 4, download: 2 },
    certificateExpiresAt: null,
    ...fields,
  };
}

/** A failing result: HTTP 500. */
export function failureOf(monitorId: string, fields: Partial<CheckRecord> = {}): CheckRecord {
  return checkOf(monitorId, {
    status: 'DOWN',
    statusCode: 500,
    errorReason: 'HTTP_500',
    errorDetail: 'answered 500',
    latencyMs: 31,
    ...fields,
  });
}
