import { z } from 'zod';
import { component, oneOf, pageBefore, pageLimit, parseMicroseconds, storableText } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { AUDIT_ACTIONS } from '../vocabulary.ts';

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

const actorSchema = component('AuditActor', 'Who made a change.', {
  type: z.enum(['apiKey', 'operatorKey', 'user', 'system']),
  id: z
    .string()
    .nullable()
    .describe('Null for the system, for the key of the operators, and for a sign-in that failed.'),
  name: z.string().describe('Its name at that time.'),
});
export type AuditActor = z.infer<typeof actorSchema>;

const targetSchema = component('AuditTarget', 'What was changed.', {
  type: z.enum([
    'account',
    'monitor',
    'set',
    'channel',
    'maintenanceWindow',
    'apiKey',
    'user',
    'invitation',
    'region',
    'agentToken',
    'session',
    'incident',
  ]),
  id: z.string().nullable().describe('Null for a set, whose name is its source.'),
  name: z.string().describe('Its name at that time.'),
});
export type AuditTarget = z.infer<typeof targetSchema>;

/** Any JSON value. Without a type in the document, because some code generators compile neither a union of all types nor a recursive one. */
const anyJson = z.custom<z.core.util.JSONType>(() => true);

const changeSchema = component('AuditChange', 'A field that was changed.', {
  field: z.string(),
  from: anyJson.describe('Null if it was not set. A secret is `"(secret)"`.'),
  to: anyJson.describe('Null if it is no longer set. A secret is `"(secret)"`.'),
});
export type AuditChange = z.infer<typeof changeSchema>;

export const auditEntrySchema = component(
  'AuditEntry',
  'A change of configuration, a sign-in, or the acknowledgement of an incident.',
  {
    id: z.uuid(),
    timestamp: z.iso
      .datetime({ precision: 6 })
      .describe('With microseconds, strictly increasing in the account.'),
    actor: actorSchema,
    requestId: z.string().nullable().describe('As in `X-Request-Id`; null without a request.'),
    action: z.string().describe('Such as `monitor.updated`. Later versions may add others.'),
    target: targetSchema,
    changes: z.array(changeSchema),
  },
);
export type AuditEntry = z.infer<typeof auditEntrySchema>;

/** Parses an ISO 8601 timestamp with an offset as UTC with six digits. */
const sinceSchema = z
  .string({ error: 'must be given only once' })
  .transform((text, context) => {
    const time = parseMicroseconds(text);
    if (time !== null) return time;
    const message =
      'must be an ISO 8601 timestamp with an offset, such as 2026-01-31T12:00:00.000000Z (write + as %2B in a query)';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  })
  .optional()
  .meta({
    format: 'date-time',
    description:
      'Only later entries: an ISO 8601 timestamp with an offset. To tail, pass the `timestamp` of your last entry with all its digits.',
  });

export const auditLogQuerySchema = z.object({ limit: pageLimit, since: sinceSchema });

function idFilter(what: string): z.ZodOptional<z.ZodType<string, string>> {
  const error = `must be the id of ${what}`;
  return storableText
    .max(LIMITS.nameCharacters, { error })
    .optional()
    .describe(`Only entries of this ${what}.`);
}

export const dashboardAuditLogQuerySchema = auditLogQuerySchema.extend({
  before: pageBefore.describe('Only earlier entries: the id of the earliest entry that you have.'),
  action: oneOf(AUDIT_ACTIONS).optional().describe('Only entries with this action.'),
  actorId: idFilter('actor'),
  targetId: idFilter('target'),
});
export type AuditLogQuery = z.infer<typeof dashboardAuditLogQuerySchema>;
