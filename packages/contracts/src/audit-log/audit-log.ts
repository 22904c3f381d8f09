import { z } from 'zod';
import { component } from '../fields.ts';

export { HIDDEN_SECRET as AUDITED_SECRET } from '../fields.ts';

const actorSchema = component('AuditActor', 'Who made a change.', {
  type: z.enum(['apiKey', 'user', 'system']),
  id: z.string().nullable().describe('Null for the system, and for a sign-in that failed.'),
  name: z.string().describe('Its name at that time.'),
});
export type AuditActor = z.infer<typeof actorSchema>;

const targetSchema = component('AuditTarget', 'What was changed.', {
  type: z.enum([
    'monitor',
    'set',
    'channel',
    'maintenanceWindow',
    'apiKey',
    'user',
    'invitation',
    'region',
    'session',
  ]),
  id: z.string().nullable().describe('Null for a set, which its source names.'),
  name: z.string().describe('Its name at that time.'),
});
export type AuditTarget = z.infer<typeof targetSchema>;

const changeSchema = component('AuditChange', 'A field that was changed.', {
  field: z.string(),
  from: z.json().describe('Null if it was not set. A secret is `"(secret)"`.'),
  to: z.json().describe('Null if it is not set any more. A secret is `"(secret)"`.'),
});
export type AuditChange = z.infer<typeof changeSchema>;

export const auditEntrySchema = component('AuditEntry', 'A change of configuration, or a sign-in.', {
  id: z.uuid(),
  timestamp: z.iso.datetime({ precision: 6 }).describe('Strictly increasing in the account.'),
  actor: actorSchema,
  requestId: z.string().nullable().describe('As in `X-Request-Id`; null without a request.'),
  action: z.string().describe('Such as `monitor.updated`.'),
  target: targetSchema,
  changes: z.array(changeSchema),
});
export type AuditEntry = z.infer<typeof auditEntrySchema>;
