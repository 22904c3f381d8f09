import type { FieldError } from '@tocsin/contracts/errors';
import type { Monitor, MonitorInput, MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
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

/** What a header value or a body is shown as that no key opens. */
const UNREADABLE = '(unreadable)';

/** A monitor's row is there and cannot be used: no key opens its header values or its body. Trying again does not help. */
export class UnreadableMonitorError extends Error {
  override readonly name = 'UnreadableMonitorError';

  constructor(monitorId: string, cause: unknown) {
    super(`monitor ${monitorId} cannot be read`, { cause });
  }
}

/**
 * A row's input fields as the wire has them: what is read back equals what was written.
 * @throws UnreadableMonitorError
 */
export function toInput(row: MonitorRow, secrets: SecretBox): MonitorInput {
  try {
    return readInput(row, (sealed) => secrets.decrypt(sealed));
  } catch (error) {
    throw new UnreadableMonitorError(row.id, error);
  }
}

/** The same for showing and comparing: what no key opens is "(unreadable)". Never to be written back: see `placeholderErrors`. */
export function toShownInput(row: MonitorRow, secrets: SecretBox): MonitorInput {
  return readInput(row, (sealed) => {
    try {
      return secrets.decrypt(sealed);
    } catch {
      return UNREADABLE;
    }
  });
}

/** The fields that would replace what no key opens by "(unreadable)", as a client does that sends back what it got. */
export function placeholderErrors(
  row: MonitorRow,
  { headers, body }: Pick<MonitorUpdate, 'headers' | 'body'>,
  secrets: SecretBox,
): FieldError[] {
  const paths = [
    ...Object.entries(headers ?? {}).flatMap(([name, value]) =>
      value === UNREADABLE ? [`headers.${name}`] : [],
    ),
    ...(body === UNREADABLE ? ['body'] : []),
  ];
  if (paths.length === 0 || isReadable(row, secrets)) return [];
  const message = `must be the true value: ${UNREADABLE} stands for one that no key of this server opens`;
  return paths.map((path) => ({ path, message }));
}

function isReadable(row: MonitorRow, secrets: SecretBox): boolean {
  try {
    toInput(row, secrets);
    return true;
  } catch (error) {
    if (error instanceof UnreadableMonitorError) return false;
    throw error;
  }
}

function readInput(row: MonitorRow, decrypt: (sealed: string) => string): MonitorInput {
  return {
    name: row.name,
    url: row.url,
    // Rows of a later version's type are shown as they are.
    type: row.type as MonitorInput['type'],
    interval: row.intervalSeconds,
    timeout: row.timeoutSeconds,
    method: row.method,
    headers: row.sealedHeaders && mapValues(row.sealedHeaders, decrypt),
    body: row.sealedBody === null ? null : decrypt(row.sealedBody),
    assertions: row.assertions,
    failureThreshold: row.failureThreshold,
    regions: row.regions,
    runbookUrl: row.runbookUrl,
    externalId: row.externalId,
    source: row.source,
  };
}

/** The wire record of a monitor. One that no key opens is shown all the same, so that it does not take a whole list with it. */
export function toMonitor(row: MonitorRow, secrets: SecretBox): Monitor {
  return {
    id: row.id,
    ...toShownInput(row, secrets),
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
