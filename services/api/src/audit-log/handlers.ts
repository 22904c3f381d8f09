import type { AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import { auditLogRoutes } from '@tocsin/contracts/audit-log/routes';
import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import { listAuditEntries } from '@tocsin/db/audit-log/read-audit-log';
import { implement } from '../http/implement.ts';

export const auditLogApi = implement(auditLogRoutes, ({ db }) => ({
  listAuditEntries: async ({ caller, query }) => {
    const entries = await listAuditEntries(db, caller.accountId, query);
    return { entries: caller.role === 'viewer' ? entries.map(withoutReceivers) : entries };
  },
}));

/** Hides the URLs of channels. */
function withoutReceivers(entry: AuditEntry): AuditEntry {
  if (entry.target.type !== 'channel') return entry;
  const changes = entry.changes.map(({ field, from, to }) =>
    field === 'url' ? { field, from: from && HIDDEN_SECRET, to: to && HIDDEN_SECRET } : { field, from, to },
  );
  return { ...entry, changes };
}
