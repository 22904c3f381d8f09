import { auditLogRoutes } from '@tocsin/contracts/audit-log/routes';
import { listAuditEntries } from '@tocsin/db/audit-log/read-audit-log';
import { implement } from '../http/implement.ts';

export const auditLogApi = implement(auditLogRoutes, ({ db }) => ({
  listAuditEntries: async ({ caller, query }) => ({
    entries: await listAuditEntries(db, caller.accountId, query),
  }),
}));
