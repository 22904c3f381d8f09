import type { AuditAction, AuditChange, AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import { pagedQuery } from '../api/paged-query.ts';
import { api } from '../api/request.ts';
import { listNames } from '../components/format.ts';

export interface AuditSearch {
  readonly action?: AuditAction | undefined;
  readonly actorId?: string | undefined;
  readonly targetId?: string | undefined;
}

/** Entries of the audit log, newest first. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers the type of the data
export const auditLogQuery = (search: AuditSearch) =>
  pagedQuery(['audit-log', search], async ({ signal, ...page }) => {
    const query = { ...search, ...page };
    return (await api('GET /api/dashboard/audit-log', { query, signal })).entries.toReversed();
  });

const TARGET_LABELS: Readonly<Record<string, string>> = {
  agentToken: 'Agent token',
  apiKey: 'API key',
  maintenanceWindow: 'Maintenance window',
};
const ACTION_LABELS: Partial<Record<string, string>> = {
  'set.applied': 'Files applied to source',
  'session.created': 'Signed in',
  'session.failed': 'Sign-in failed',
};

/** Formats as `Monitor updated` or `Channel secret revealed`. */
export function describeAction(action: string): string {
  const [type = '', verb = ''] = action.split('.');
  const target = TARGET_LABELS[type] ?? type.charAt(0).toUpperCase() + type.slice(1);
  const words = verb.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return ACTION_LABELS[action] ?? `${target} ${words}`;
}

/** Formats an invitation, whose name is a role, as `(member)`. */
export function describeTarget({ type, name }: AuditEntry['target']): string {
  return type === 'invitation' ? `(${name})` : name;
}

/** Formats as `CI (API key)`. A user has only a name. */
export function describeActor({ type, name }: AuditEntry['actor']): string {
  return type === 'apiKey' ? `${name} (API key)` : name;
}

/** A change as text. A value is null if the field is not set. */
interface ChangeText {
  readonly field: string;
  readonly from: string | null;
  readonly to: string | null;
}

const MAX_CHARACTERS = 300;

/** The changes of an entry. Changes of an object, such as labels, are listed by key. */
export function listChanges(changes: readonly AuditChange[]): ChangeText[] {
  return changes.flatMap(({ field, from, to }): ChangeText[] => {
    const keys = [...new Set([...keysOf(from), ...keysOf(to)])];
    if (keys.length === 0) return [{ field, from: toText(from), to: toText(to) }];
    const inner = keys.map((key) => ({
      field: `${field}.${key}`,
      from: valueOf(from, key),
      to: valueOf(to, key),
    }));
    const differing = inner.filter((change) => JSON.stringify(change.from) !== JSON.stringify(change.to));
    // Secrets look the same after a change.
    return listChanges(differing.length === 0 ? inner : differing);
  });
}

type Json = AuditChange['from'];

function isObject(value: Json): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function keysOf(value: Json): string[] {
  return isObject(value) ? Object.keys(value) : [];
}

function valueOf(value: Json, key: string): Json {
  return isObject(value) && Object.hasOwn(value, key) ? (value[key] ?? null) : null;
}

function toText(value: Json): string | null {
  if (value === null) return null;
  const text = Array.isArray(value)
    ? value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join(', ')
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text || '(empty)';
}

/** Formats as `12 changes: name, url and 10 more`. */
export function summarizeChanges(changes: readonly AuditChange[]): string {
  const fields = changes.map(({ field }) => field);
  return `${changes.length} changes: ${listNames(fields, 3)}`;
}
