import type { FieldError } from '@tocsin/contracts/errors';
import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import {
  createMonitorSchema,
  type Monitor,
  type MonitorInput,
  monitorSchema,
  type MonitorUpdate,
} from '@tocsin/contracts/monitors/monitor';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { getTableColumns, sql, type SQL } from 'drizzle-orm';
import { type Audited, type AuditRecord, recordOf } from '../audit-log/record-audit.ts';
import { pick } from '../database/fields.ts';
import { laterThan } from '../database/sql.ts';
import { type MonitorRow, monitors } from './table.ts';

const FIELDS = createMonitorSchema.keyof().options;

export interface IdentifiedInput extends Readonly<Pick<MonitorRow, 'id' | 'revision' | 'probeRevision'>> {
  readonly input: MonitorInput;
}

/** Returns the columns of a write. Header values, the body and the TLS key are sealed. */
function toRecord({ id, revision, probeRevision, input }: IdentifiedInput, secrets: SecretBox) {
  const { interval, timeout, retryInterval, headers, body, tls, ...same } = pick(input, FIELDS);
  const { key, ...publicTls } = tls ?? {};
  return {
    id,
    revision,
    probeRevision,
    ...same,
    intervalSeconds: interval,
    timeoutSeconds: timeout,
    retryIntervalSeconds: retryInterval,
    sealedHeaders: headers && mapValues(headers, (value) => secrets.encrypt(value)),
    sealedBody: body === null ? null : secrets.encrypt(body),
    tls: tls && publicTls,
    sealedTlsKey: key === undefined ? null : secrets.encrypt(key),
  };
}

const columns = getTableColumns(monitors);

/** Inserts new monitors and updates known ones by their ids. All of them are one parameter. */
export function upsertMonitors(
  accountId: string,
  inputs: readonly IdentifiedInput[],
  secrets: SecretBox,
): SQL {
  const records = inputs.map((input) => toRecord(input, secrets));
  const keys = Object.keys(records[0] ?? {}) as (keyof (typeof records)[number])[];
  const listOf = (toText: (key: (typeof keys)[number]) => string): SQL =>
    sql.raw(keys.map(toText).join(', '));
  const names = listOf((key) => `"${columns[key].name}"`);
  const types = listOf((key) => `"${key}" ${columns[key].getSQLType()}`);
  // The id is not set, because setting a key column takes a lock that also blocks rows referring to the monitor.
  const assignments = keys
    .filter((key) => key !== 'id')
    .map((key) => `"${columns[key].name}" = excluded."${columns[key].name}"`);
  return sql`
    insert into monitors (account_id, ${names}) select ${accountId}::uuid, u.*
    from jsonb_to_recordset(${JSON.stringify(records)}::jsonb) as u (${types}) order by u.id
    on conflict (id) do update set ${sql.raw(assignments.join(', '))}, updated_at = ${laterThan(monitors.updatedAt)}`;
}

/** Replaces a header value, a body or a TLS key that no key can decrypt. */
export const UNREADABLE = '(unreadable)';

/** No key decrypts the secrets of a monitor. A retry does not help. */
export class UnreadableMonitorError extends Error {
  override readonly name = 'UnreadableMonitorError';

  constructor(monitorId: string, cause: unknown) {
    super(`Monitor ${monitorId} cannot be read`, { cause });
  }
}

/** Returns the input fields of a row. Secrets that no key decrypts are replaced by "(unreadable)", and there is an error. */
export function readInput(
  row: MonitorRow,
  secrets: Pick<SecretBox, 'decrypt'>,
): { readonly shown: MonitorInput; readonly error: UnreadableMonitorError | null } {
  let error: UnreadableMonitorError | null = null;
  const decrypt = (sealed: string): string => {
    try {
      return secrets.decrypt(sealed);
    } catch (cause) {
      error = new UnreadableMonitorError(row.id, cause);
      return UNREADABLE;
    }
  };
  const values = {
    ...row,
    // A type from a later version is shown as it is.
    type: row.type as MonitorInput['type'],
    interval: row.intervalSeconds,
    timeout: row.timeoutSeconds,
    retryInterval: row.retryIntervalSeconds,
    headers: row.sealedHeaders && mapValues(row.sealedHeaders, decrypt),
    body: row.sealedBody === null ? null : decrypt(row.sealedBody),
    tls: row.tls && row.sealedTlsKey !== null ? { ...row.tls, key: decrypt(row.sealedTlsKey) } : row.tls,
  };
  return { shown: pick(values, FIELDS), error };
}

/** Audits a change without showing header values, bodies and TLS keys. @param before null if created @param after null if deleted */
export function auditMonitor(
  before: MonitorRow | null,
  after: MonitorRow | null,
  changed: readonly string[] = [],
): AuditRecord[] {
  return recordOf('monitor', before && toAudited(before), after && toAudited(after), changed);
}

function toAudited(row: MonitorRow): Audited {
  return { id: row.id, ...readInput(row, HIDING).shown };
}

/** Takes the place of the keys, and "decrypts" each value to a placeholder. */
const HIDING = { decrypt: () => HIDDEN_SECRET };

/** Lists the fields whose update would replace an unreadable secret by "(unreadable)", because a client sends back what it read. */
export function placeholderErrors(
  row: MonitorRow,
  { headers, body, tls }: Pick<MonitorUpdate, 'headers' | 'body' | 'tls'>,
  secrets: SecretBox,
): FieldError[] {
  const names = Object.keys(headers ?? {}).filter((name) => headers?.[name] === UNREADABLE);
  const paths = names.map((name) => `headers.${name}`);
  if (body === UNREADABLE) paths.push('body');
  if (tls?.key === UNREADABLE) paths.push('tls.key');
  if (paths.length === 0 || readInput(row, secrets).error === null) return [];
  const message = `must be the actual value: ${UNREADABLE} stands for one that no key of this server decrypts`;
  return paths.map((path) => ({ path, message }));
}

export interface Viewer {
  readonly accountId: string;
  /** False hides header values and bodies, which may be credentials, and TLS keys. */
  readonly canWrite: boolean;
}

/** Returns the wire record of a monitor for the viewer. Also shows an unreadable monitor, so that it does not make a whole list fail. */
export function toMonitor(
  row: MonitorRow,
  secrets: SecretBox,
  { canWrite }: Pick<Viewer, 'canWrite'>,
): Monitor {
  const { shown } = readInput(row, canWrite ? secrets : HIDING);
  return {
    id: row.id,
    ...shown,
    status: row.status,
    statusSince: row.statusSince.toISOString(),
    errorDetail: row.status === 'DOWN' ? row.errorDetail : null,
    lastCheckedAt: row.lastCheckedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export const WIRE_FIELDS = monitorSchema.keyof().options;

const WIRE_COLUMNS: Partial<Record<keyof Monitor, keyof MonitorRow>> = {
  interval: 'intervalSeconds',
  timeout: 'timeoutSeconds',
  retryInterval: 'retryIntervalSeconds',
  headers: 'sealedHeaders',
  body: 'sealedBody',
};

/** Encloses sealed values in JSON that PostgreSQL writes. Elsewhere in the JSON, a line feed is always escaped. */
const MARK = '\n';

/** The ETag of a monitor `m`, see `versionOf`. */
const wireEtag = `'"' || m.revision || '-' || (extract(epoch from m.updated_at) * 1000)::bigint || '"' as etag`;
const wireValues = [...WIRE_FIELDS.map((field) => `${wireValue(field)} as "${field}"`), wireEtag].join(', ');

/**
 * Selects the API representation of monitor `m` as JSON, which is faster than this many columns. Secrets are sealed (see `showSecrets`).
 */
export const wireJson: SQL = sql.raw(`(select row_to_json(w)::text from (select ${wireValues}) w)`);

/** Returns a sealed value as JSON between marks. */
function marked(sealed: string): string {
  return `chr(10) || to_json(${sealed})::text || chr(10)`;
}

function wireValue(field: keyof Monitor): string {
  const column = columns[WIRE_COLUMNS[field] ?? (field as keyof MonitorRow)];
  const value = `m."${column.name}"`;
  // PostgreSQL writes a value of type json unchanged, including white space.
  if (field === 'headers' || field === 'body') return `(${marked(value)})::json`;
  // A key has a certificate, so the object is not empty.
  if (field === 'tls')
    return `coalesce((rtrim(${value}::text, '}') || ', "key": ' || ${marked('m."sealed_tls_key"')} || '}')::json, ${value}::json)`;
  if (field === 'errorDetail') return `case m.status when 'DOWN' then ${value} end`;
  if (!column.getSQLType().startsWith('timestamp')) return value;
  return `to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** Decrypts the secrets in texts of `wireJson`, as far as the viewer may see them. */
export function showSecrets(
  json: string,
  secrets: SecretBox,
  { canWrite }: Pick<Viewer, 'canWrite'>,
): string {
  const decrypt = (sealed: string): string => {
    if (!canWrite) return HIDDEN_SECRET;
    try {
      return secrets.decrypt(sealed);
    } catch {
      return UNREADABLE;
    }
  };
  const show = (part: string): string => {
    // The columns have these types. Validating them with a schema would take as long as decrypting the value.
    const value = JSON.parse(part) as string | Record<string, string>;
    return JSON.stringify(typeof value === 'string' ? decrypt(value) : mapValues(value, decrypt));
  };
  return json
    .split(MARK)
    .map((part, index) => (index % 2 === 0 ? part : show(part)))
    .join('');
}

export function mapValues(
  record: Record<string, string>,
  map: (value: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
