import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { AUDIT_ENTRY } from '../routes/examples.ts';
import { defineRoutes } from '../routes/route.ts';
import { auditEntrySchema, auditLogQuerySchema, dashboardAuditLogQuerySchema } from './audit-log.ts';

const common = {
  tag: 'Audit log',
  summary: 'List entries of the audit log',
  response: z.strictObject({ entries: z.array(auditEntrySchema).max(LIMITS.eventsPerRequest.max) }),
  responseExample: { entries: [AUDIT_ENTRY] },
} as const;

const ORDER =
  'In chronological order. With `since`: the first `limit` entries after it; without it: the latest. To tail, pass the `timestamp` of your last entry: no entry is missed or repeated.';

export const auditLogRoutes = defineRoutes(common, {
  listAuditEntries: {
    endpoint: 'GET /api/cli/audit-log',
    access: 'key',
    description: ORDER,
    query: auditLogQuerySchema,
  },
  listAuditEntriesInDashboard: {
    endpoint: 'GET /api/dashboard/audit-log',
    access: 'member',
    description: `${ORDER} For an earlier page, pass \`before\`.`,
    query: dashboardAuditLogQuerySchema,
  },
});
