import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { phaseMs } from '@tocsin/core/schedule/slots';
import type { PoolClient } from 'pg';
import type { Lab } from './lab.ts';

const CLIENTS = 16;
/** Beyond that the API would take most of a run. */
export const MOST_BY_API = 5_000;

export interface MonitorPlan {
  readonly count: number;
  readonly intervalSeconds: number;
  /** The address of the number-th monitor's target. */
  readonly url: (number: number) => string;
}

/**
 * Less than half the interval: nobody checks every few seconds with a timeout as long, and the guard against overlapping
 * checks, which such monitors need, would be measured for all.
 */
function timeoutSeconds(intervalSeconds: number): number {
  return Math.max(1, Math.min(10, Math.ceil(intervalSeconds / 2) - 1));
}

/**
 * Makes the monitors through the API, where each is checked at once.
 * @param perSecond as many at most
 * @returns their ids, in order
 */
export async function createMonitors(lab: Lab, plan: MonitorPlan, perSecond: number): Promise<string[]> {
  const startedAt = performance.now();
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const ids: string[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let number = next++; number < plan.count; number = next++) {
      const early = startedAt + (number * 1_000) / perSecond - performance.now();
      if (early > 0) await wait(early);
      ids[number] = await post(lab, agent, {
        name: `Monitor ${number}`,
        url: plan.url(number),
        interval: plan.intervalSeconds,
        timeout: timeoutSeconds(plan.intervalSeconds),
      });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  agent.destroy();
  return ids;
}

function post(lab: Lab, agent: Agent, fields: object): Promise<string> {
  const headers = { Authorization: `Bearer ${lab.apiKey}`, 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(
      `${lab.baseUrl}/api/cli/monitors`,
      { method: 'POST', agent, headers },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          if (response.statusCode !== 201) reject(new Error(`not created: ${text}`));
          else resolve((JSON.parse(text) as { monitor: { id: string } }).monitor.id);
        });
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify(fields));
  });
}

/**
 * Makes the monitors in Postgres alone, where the reconciler finds them, as monitors that have been checked before.
 * @returns their ids, in order
 */
export async function insertMonitors(lab: Lab, plan: MonitorPlan): Promise<string[]> {
  const client = await lab.database.pool.connect();
  try {
    // Whole or not at all: a running api works on what it sees.
    await client.query('begin');
    const ids = await insertRows(client, lab.context.accountId, plan);
    await client.query('commit');
    await client.query('analyze monitors, monitor_regions, schedule_spans');
    return ids;
  } finally {
    client.release();
  }
}

async function insertRows(client: PoolClient, accountId: string, plan: MonitorPlan): Promise<string[]> {
  const urls = Array.from({ length: plan.count }, (_, number) => plan.url(number));
  const { rows } = await client.query<{ id: string }>(
    `insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold,
       regions, status)
     select uuidv7(), $1, 'Monitor ' || (number - 1), url, 'HTTP', $3, $4, 'GET', 1, '{}', 'UP'
     from unnest($2::text[]) with ordinality as target (url, number) order by number
     returning id`,
    [accountId, urls, plan.intervalSeconds, timeoutSeconds(plan.intervalSeconds)],
  );
  const ids = rows.map((row) => row.id);
  await client.query(
    `with assigned as (
       insert into monitor_regions (monitor_id, region) select unnest($1::uuid[]), 'default')
     insert into schedule_spans (monitor_id, region, interval_seconds, phase_ms)
     select id, 'default', $3, phase from unnest($1::uuid[], $2::int[]) as planned (id, phase)`,
    [ids, ids.map((id) => phaseMs(id, plan.intervalSeconds * 1_000)), plan.intervalSeconds],
  );
  return ids;
}
