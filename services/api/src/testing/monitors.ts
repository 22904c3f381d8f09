import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import type { FailedResponse } from '@tocsin/contracts/monitors/events';
import type { SealResponse } from '@tocsin/db/checks/check-record';
import type { DbContext, OpenDatabase } from '@tocsin/db/database/open';
import { checkOf } from '@tocsin/db/testing/check-record';
import type TestAgent from 'supertest/lib/agent.js';
import type { TestApi } from './test-api.ts';

export const MONITORS = '/api/cli/monitors';

/** Every field of a monitor, each with a value other than its default. */
export const FULL_MONITOR = {
  name: 'Shop',
  url: 'https://shop.example/Health?a=1#b',
  type: 'HTTP',
  interval: 30,
  timeout: 5,
  method: 'POST',
  headers: { Authorization: 'Bearer secret-token', 'X-Latin': 'café' },
  body: '{"ping": "päng"}',
  assertions: {
    statusCode: 201,
    bodyContains: 'ok',
    bodyNotContains: 'no',
    maxLatency: 900,
    certificateMinDays: 14,
  },
  failureThreshold: 3,
  regions: ['eu-west-1', 'us-east-1'],
  runbookUrl: 'https://runbooks.example/shop',
  externalId: 'shop-prod',
  source: 'terraform',
};

/** Creates a monitor through the API. @param key defaults to the key of `api.account` */
export async function newMonitor(
  api: TestApi,
  fields: Record<string, unknown> = {},
  key: string = api.account.key,
): Promise<Monitor> {
  const response = await api
    .as(key)
    .post(MONITORS)
    .send({ name: 'Shop', url: 'https://shop.example/health', ...fields });
  if (response.status !== 201) throw new Error(`not created: ${JSON.stringify(response.body)}`);
  return (response.body as { monitor: Monitor }).monitor;
}

/** Records a check that passed, or failed if `down`. @returns the id of its event */
export async function recordCheck(
  { context, database }: TestApi,
  monitorId: string,
  down: boolean = false,
): Promise<string> {
  const failure = { status: 'DOWN', statusCode: 500, errorReason: 'HTTP_500' } as const;
  const [outcome] = await recordChecks(context.db, [checkOf(monitorId, down ? failure : {})]);
  if (outcome?.kind !== 'recorded') throw new Error(`not recorded: ${outcome?.kind}`);
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from events where monitor_id = $1 order by timestamp desc limit 1',
    [monitorId],
  );
  return rows[0]?.id ?? '';
}

/** Time of the check of `recordResponse`. The same for all monitors, so that paths need no lookup. */
export const RESPONSE_AT = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString();

/** Records a failed check that keeps its response, with this body. */
export async function recordResponse(
  { context, database }: { readonly context: DbContext; readonly database: Pick<OpenDatabase, 'pool'> },
  monitorId: string,
  body: string,
): Promise<void> {
  const response = (): FailedResponse => ({ headers: { 'content-type': 'text/plain' }, body });
  const sealResponse: SealResponse = (check) => context.secrets.encrypt(JSON.stringify(check.response?.()));
  const failure = { status: 'DOWN', statusCode: 500, errorReason: 'HTTP_500', response } as const;
  await recordChecks(context.db, [checkOf(monitorId, failure)], { sealResponse });
  await database.pool.query(
    'update events set timestamp = $2 where monitor_id = $1 and sealed_response is not null',
    [monitorId, RESPONSE_AT],
  );
}

/** Lists the monitors as a single read shows them, without the `etag` of each. */
export async function listMonitors(agent: TestAgent): Promise<Monitor[]> {
  const { body } = await agent.get(MONITORS);
  return (body as { monitors: (Monitor & { etag: string })[] }).monitors.map((listed) => {
    const { etag: _, ...monitor } = listed;
    return monitor;
  });
}
