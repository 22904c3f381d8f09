import { createMonitorSchema, type MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { trialCheckSchema } from '@tocsin/contracts/monitors/trial-check';
import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { pick } from '../database/fields.ts';
import type { Database, DbContext } from '../database/open.ts';
import { firstOf } from '../database/sql.ts';
import { testChecks } from './table.ts';

const requestSchema = createMonitorSchema.pick({
  url: true,
  method: true,
  headers: true,
  body: true,
  followRedirects: true,
  ipFamily: true,
  connectTo: true,
  tls: true,
  assertions: true,
  timeout: true,
});

const resultSchema = trialCheckSchema.omit({ region: true });
export type TestResult = z.output<typeof resultSchema>;

/** Requests one trial check with settings that are not saved, to start within `startWithinMs`. @returns its id */
export async function createTestCheck(
  { db, secrets }: DbContext,
  accountId: string,
  settings: MonitorInput,
  startWithinMs: number,
): Promise<string> {
  const request = pick(settings, requestSchema.keyof().options);
  const sealedRequest = secrets.encrypt(JSON.stringify(request));
  const notAfter = sql`now() + make_interval(secs => ${startWithinMs / 1_000}::float8)`;
  const values = { accountId, sealedRequest, notAfter };
  return firstOf(await db.insert(testChecks).values(values).returning({ id: testChecks.id })).id;
}

/** Takes a trial check to run it, once and never after its limit. Null if it was taken, is too late, or does not exist. */
export async function takeTestCheck(
  { db, secrets }: DbContext,
  id: string,
): Promise<{ accountId: string; request: z.output<typeof requestSchema> } | null> {
  const [taken] = await db
    .update(testChecks)
    .set({ startedAt: sql`now()` })
    .where(and(eq(testChecks.id, id), isNull(testChecks.startedAt), gt(testChecks.notAfter, sql`now()`)))
    .returning({ accountId: testChecks.accountId, sealedRequest: testChecks.sealedRequest });
  if (taken === undefined) return null;
  const request = requestSchema.parse(JSON.parse(secrets.decrypt(taken.sealedRequest)));
  return { accountId: taken.accountId, request };
}

/** Records the result of a trial check. Does nothing if no request waits for it any more. */
export async function recordTestResult(
  { db, secrets }: DbContext,
  id: string,
  result: TestResult,
): Promise<void> {
  const sealedResult = secrets.encrypt(JSON.stringify(result));
  await db.update(testChecks).set({ sealedResult }).where(eq(testChecks.id, id));
}

/** Returns the result of a trial check, or null until it is recorded. */
export async function findTestResult({ db, secrets }: DbContext, id: string): Promise<TestResult | null> {
  const [row] = await db
    .select({ sealedResult: testChecks.sealedResult })
    .from(testChecks)
    .where(eq(testChecks.id, id));
  const sealed = row?.sealedResult ?? null;
  return sealed === null ? null : resultSchema.parse(JSON.parse(secrets.decrypt(sealed)));
}

/** Deletes a trial check that no request waits for any more. A checker drops it if it has not started. */
export async function deleteTestCheck(db: Database, id: string): Promise<void> {
  await db.delete(testChecks).where(eq(testChecks.id, id));
}
