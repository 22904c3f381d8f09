import { z } from 'zod';
import type { FieldError } from '../errors.ts';
import { toFieldErrors } from '../field-errors.ts';
import { boundedInteger, httpUrl, label, oneOf, storableText } from '../fields.ts';
import { LIMITS, REGION_PATTERN } from '../limits.ts';
import { HTTP_METHODS, MONITOR_STATUSES, MONITOR_TYPES } from '../vocabulary.ts';
import { requestHeaders } from './request-headers.ts';

const assertionText = storableText
  .min(1, { error: 'must not be empty' })
  .max(LIMITS.assertionTextCharacters, {
    error: `must be at most ${LIMITS.assertionTextCharacters} characters`,
  });

/** Rules that must all pass for a check to count as UP. Unknown keys are refused (design §3). */
const assertionsSchema = z
  .strictObject({
    statusCode: boundedInteger(100, 599)
      .optional()
      .describe('The answer has exactly this status code. Without it, 200 to 399 pass.'),
    bodyContains: assertionText.optional().describe('The first MiB of the body holds this text.'),
    bodyNotContains: assertionText.optional().describe('The first MiB of the body does not hold this text.'),
    maxLatency: boundedInteger(1, LIMITS.maxLatencyMs, 'milliseconds')
      .optional()
      .describe('The exchange takes at most so many milliseconds.'),
    certificateMinDays: boundedInteger(1, LIMITS.certificateMinDays, 'days')
      .optional()
      .describe('The certificate is valid for at least so many days more.'),
  })
  .meta({ id: 'Assertions', description: 'Rules that must all pass for a check to count as `UP`.' });
export type Assertions = z.infer<typeof assertionsSchema>;

const regionCode = z.string({ error: 'must be a string' }).regex(REGION_PATTERN, {
  error: 'must be a region code: 1 to 63 lower-case letters, digits or hyphens, not starting with a hyphen',
});

const regionList = z
  .array(regionCode, { error: 'must be an array of region codes' })
  .max(LIMITS.regionCount, { error: `must hold at most ${LIMITS.regionCount} regions` })
  .refine((regions) => new Set(regions).size === regions.length, { error: 'must not name a region twice' })
  .meta({ uniqueItems: true });

const utf8 = new TextEncoder();
const requestBody = storableText.refine((body) => utf8.encode(body).length <= LIMITS.requestBodyBytes, {
  error: `must be at most ${LIMITS.requestBodyBytes} bytes`,
});

/**
 * The field rules of a monitor, without defaults. `null` clears the fields that have no default; for the others it is an error.
 * Specification "Monitor (input fields)"; names and bounds: design §3.
 */
const fields = {
  name: label(LIMITS.nameCharacters).describe('Display name. White space around it is removed.'),
  url: httpUrl.describe('What is checked: an absolute http or https URL without user name or password.'),
  type: oneOf(MONITOR_TYPES).describe('Kind of check.'),
  interval: boundedInteger(LIMITS.intervalSeconds.min, LIMITS.intervalSeconds.max, 'seconds').describe(
    'Seconds from one check to the next.',
  ),
  timeout: boundedInteger(LIMITS.timeoutSeconds.min, LIMITS.timeoutSeconds.max, 'seconds').describe(
    'Seconds for the whole exchange, with redirects and body. A check that takes longer is a `TIMEOUT`.',
  ),
  method: oneOf(HTTP_METHODS).describe('HTTP method of the check.'),
  headers: requestHeaders
    .nullable()
    .describe('Headers that each check sends. They are read back in clear, and never go to another origin.'),
  body: requestBody
    .nullable()
    .describe(
      `Sent by checks with \`POST\`, \`PUT\` or \`PATCH\`; at most ${LIMITS.requestBodyBytes} bytes.`,
    ),
  assertions: assertionsSchema.nullable().describe('Rules that must all pass for a check to count as `UP`.'),
  failureThreshold: boundedInteger(LIMITS.failureThreshold.min, LIMITS.failureThreshold.max).describe(
    'Consecutive failures of a region after which it counts as failing. The monitor is `DOWN` when most of its regions are.',
  ),
  regions: regionList.describe('Codes of the regions that check it. Empty: the default region.'),
  runbookUrl: httpUrl.nullable().describe('What to do when it is `DOWN`; goes into webhooks and alerts.'),
  externalId: label(LIMITS.externalIdCharacters)
    .nullable()
    .describe('Your own stable key for it, unique in the account.'),
  source: label(LIMITS.externalIdCharacters)
    .nullable()
    .describe('Which set of monitors it belongs to, such as the repository that declares it.'),
};

/** Body of "create a monitor": name and url required, everything else with its stated default. */
export const createMonitorSchema = z
  .strictObject({
    ...fields,
    type: fields.type.default('HTTP'),
    interval: fields.interval.default(LIMITS.intervalSeconds.default),
    timeout: fields.timeout.default(LIMITS.timeoutSeconds.default),
    method: fields.method.default('GET'),
    headers: fields.headers.default(null),
    body: fields.body.default(null),
    assertions: fields.assertions.default(null),
    failureThreshold: fields.failureThreshold.default(LIMITS.failureThreshold.default),
    regions: fields.regions.default([]),
    runbookUrl: fields.runbookUrl.default(null),
    externalId: fields.externalId.default(null),
    source: fields.source.default(null),
  })
  .meta({ id: 'MonitorCreate', description: 'A new monitor: only `name` and `url` must be given.' });

/** A complete set of input fields: a create body with its defaults filled in, or a merged update. */
export type MonitorInput = z.infer<typeof createMonitorSchema>;

/** Body of "update a monitor": any subset; omitted fields stay as they are. */
export const updateMonitorSchema = z.strictObject(fields).partial().meta({
  id: 'MonitorUpdate',
  description: 'The fields to change. Objects and lists are replaced as a whole; `null` clears a field.',
});
export type MonitorUpdate = z.infer<typeof updateMonitorSchema>;

/** A rule between two fields that a set of input fields breaks. */
export interface FieldConflict {
  readonly path: string;
  readonly message: string;
}

/** Rules that span fields; checked on create and on the merged record of an update (design §3). */
export function monitorConflicts(input: Pick<MonitorInput, 'method' | 'assertions'>): FieldConflict[] {
  if (input.method !== 'HEAD') return [];
  return (['bodyContains', 'bodyNotContains'] as const)
    .filter((key) => input.assertions?.[key] !== undefined)
    .map((key) => ({
      path: `assertions.${key}`,
      message: 'cannot be used with method HEAD: its answers have no body; use GET or drop the assertion',
    }));
}

const timestamp = z.iso.datetime({ precision: 3 });

/** The monitor record as the API answers it: unset optional fields are null, never absent. */
export const monitorSchema = z
  .strictObject({
    id: z.uuid().describe('Stands in paths and events.'),
    ...fields,
    status: z.enum(MONITOR_STATUSES).describe('`PENDING` until the first check completes.'),
    statusSince: timestamp.describe('When it took its status.'),
    lastCheckedAt: timestamp.nullable().describe('Null: not checked yet.'),
    createdAt: timestamp,
    updatedAt: timestamp.describe('When its fields were last changed.'),
  })
  .meta({
    id: 'Monitor',
    description: 'A URL to check, how often, how, and from where. What is not set is null.',
  });
export type Monitor = z.infer<typeof monitorSchema>;

/** The fields that rules between fields look at, for a monitor whose other fields may be invalid. */
const conflictSchema = createMonitorSchema.pick({ method: true, assertions: true }).strip();

/** Validates a complete monitor by a schema and the rules between fields. `input` has the defaults; it is null if there are errors. */
export function validateMonitor<Schema extends z.ZodObject>(
  schema: Schema,
  fields: unknown,
): { input: z.output<Schema> | null; errors: FieldError[] } {
  const result = schema.safeParse(fields);
  const conflicts = conflictSchema.safeParse(fields);
  const errors = [
    ...(result.success ? [] : toFieldErrors(result.error.issues, schema)),
    ...(conflicts.success ? monitorConflicts(conflicts.data) : []),
  ];
  return { input: result.success && errors.length === 0 ? result.data : null, errors };
}
