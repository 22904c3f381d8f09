import type { Monitor, MonitorInput } from '@tocsin/contracts/monitor';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { sql, type SQL } from 'drizzle-orm';
import type { MonitorRow, monitors } from './table.ts';

/** Monitors that one statement writes. */
export const ROWS_AT_ONCE = 500;

type InputColumns = Omit<
  typeof monitors.$inferInsert,
  'id' | 'accountId' | 'revision' | 'probeRevision' | 'status' | 'statusSince' | 'createdAt' | 'updatedAt'
>;

/** Input fields as columns: header values and the body sealed. */
function toColumns(input: MonitorInput, secrets: SecretBox): InputColumns {
  const { interval, timeout, headers, body, ...same } = input;
  return {
    ...same,
    intervalSeconds: interval,
    timeoutSeconds: timeout,
    sealedHeaders: headers && mapValues(headers, (value) => secrets.encrypt(value)),
    sealedBody: body === null ? null : secrets.encrypt(body),
  };
}

interface Identity {
  readonly id: string;
  readonly revision: number;
  readonly probeRevision: number;
}

/** The columns that an input gives, with what tells whose they are. */
export type MonitorRecord = Identity & InputColumns;

export function toRecord(identity: Identity, input: MonitorInput, secrets: SecretBox): MonitorRecord {
  return { ...identity, ...toColumns(input, secrets) };
}

/** Many records as one parameter: a table `u`, its columns named as in Drizzle, which a statement joins. */
export function recordsOf(records: readonly MonitorRecord[]): SQL {
  return sql`jsonb_to_recordset(${JSON.stringify(records)}::jsonb) as u (
    id uuid, name text, url text, type text, "intervalSeconds" int, "timeoutSeconds" int, method text,
    "sealedHeaders" jsonb, "sealedBody" text, assertions jsonb, "failureThreshold" int, regions text[],
    "runbookUrl" text, "externalId" text, source text, revision int, "probeRevision" int)`;
}

/** A row's input fields as the wire has them: what is read back equals what was written. */
export function toInput(row: MonitorRow, secrets: SecretBox): MonitorInput {
  return {
    name: row.name,
    url: row.url,
    // Rows of a later version's type are shown as they are.
    type: row.type as MonitorInput['type'],
    interval: row.intervalSeconds,
    timeout: row.timeoutSeconds,
    method: row.method,
    headers: row.sealedHeaders && mapValues(row.sealedHeaders, (value) => secrets.decrypt(value)),
    body: row.sealedBody === null ? null : secrets.decrypt(row.sealedBody),
    assertions: row.assertions,
    failureThreshold: row.failureThreshold,
    regions: row.regions,
    runbookUrl: row.runbookUrl,
    externalId: row.externalId,
    source: row.source,
  };
}

/** The wire record of a monitor (design §3 "Names"). */
export function toMonitor(row: MonitorRow, secrets: SecretBox): Monitor {
  return {
    id: row.id,
    ...toInput(row, secrets),
    status: row.status,
    statusSince: row.statusSince.toISOString(),
    lastCheckedAt: row.lastCheckedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

function mapValues(record: Record<string, string>, map: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
