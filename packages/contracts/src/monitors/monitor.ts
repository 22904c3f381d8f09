import { z } from 'zod';
import type { FieldError } from '../errors.ts';
import { toFieldErrors } from '../field-errors.ts';
import {
  boundedInteger,
  etag,
  flag,
  HIDDEN_ERROR,
  HIDDEN_SECRET,
  httpUrl,
  identifiers,
  label,
  oneOf,
  sourceFilter,
  storableText,
  timestamp,
} from '../fields.ts';
import { labelsSchema } from '../labels/selector.ts';
import { selectorParameter } from '../labels/selector-parameter.ts';
import { LIMITS, REGION_PATTERN } from '../limits.ts';
import { HTTP_METHODS, MONITOR_STATUSES, MONITOR_TYPES } from '../vocabulary.ts';
import { assertionsSchema, BODY_ASSERTIONS } from './assertions.ts';
import { actualTls, connectTo, ipFamily, tlsSchema } from './connection.ts';
import { actualHeaders, requestHeaders } from './request-headers.ts';

const regionCode = z.string({ error: 'must be a string' }).regex(REGION_PATTERN, {
  error: 'must be a region code: 1 to 63 lower-case letters, digits or hyphens, not starting with a hyphen',
});

const regionList = z
  .array(regionCode, { error: 'must be an array of region codes' })
  .max(LIMITS.regionCount, { error: `must contain at most ${LIMITS.regionCount} regions` })
  .refine((regions) => new Set(regions).size === regions.length, { error: 'must not contain a region twice' })
  .meta({ uniqueItems: true });

const utf8 = new TextEncoder();
const requestBody = storableText.refine((body) => utf8.encode(body).length <= LIMITS.requestBodyBytes, {
  error: `must be at most ${LIMITS.requestBodyBytes} bytes`,
});

const actualBody = requestBody.nullable().refine((body) => body !== HIDDEN_SECRET, { error: HIDDEN_ERROR });

/** Fields of a monitor, without defaults. `null` clears a nullable field and is an error for other fields. */
const fields = {
  name: label(LIMITS.nameCharacters).describe('Display name.'),
  url: httpUrl.describe('What is checked: an absolute http or https URL without user name or password.'),
  type: oneOf(MONITOR_TYPES).describe('Kind of check.'),
  interval: boundedInteger(LIMITS.intervalSeconds.min, LIMITS.intervalSeconds.max, 'seconds').describe(
    'Seconds between checks.',
  ),
  timeout: boundedInteger(LIMITS.timeoutSeconds.min, LIMITS.timeoutSeconds.max, 'seconds').describe(
    'Seconds for the whole exchange, including redirects and body. A longer check is a `TIMEOUT`.',
  ),
  enabled: flag.describe(
    'False pauses the monitor: no scheduled checks, no alerts and no gaps. Its status and open incident stay as they are, and the pause does not count in availability.',
  ),
  method: oneOf(HTTP_METHODS).describe('HTTP method of the check.'),
  headers: actualHeaders.describe('Headers that each check sends. They are never sent to another origin.'),
  body: actualBody.describe(
    `Sent by checks with \`POST\`, \`PUT\` or \`PATCH\`; at most ${LIMITS.requestBodyBytes} bytes.`,
  ),
  followRedirects: flag.describe('Whether to follow redirects. False: the first response decides.'),
  ipFamily: ipFamily.describe(
    'IP version of every connection, 4 or 6. Null: both, as the name and the network allow.',
  ),
  connectTo: connectTo.describe(
    "Host or address, with an optional port, to connect to in place of the URL's. `Host`, SNI and certificate stay those of the URL. Redirects to another host or port ignore it.",
  ),
  tls: actualTls.describe('TLS settings: server name, trusted CAs and client certificate.'),
  assertions: assertionsSchema.nullable().describe('Rules that must all pass for a check to count as `UP`.'),
  failureThreshold: boundedInteger(LIMITS.failureThreshold.min, LIMITS.failureThreshold.max).describe(
    'Consecutive failures of a region after which it counts as failing. The monitor is `DOWN` when most of its regions are.',
  ),
  retryInterval: boundedInteger(LIMITS.retryIntervalSeconds.min, LIMITS.retryIntervalSeconds.max, 'seconds')
    .nullable()
    .describe(
      'Seconds until the next check of a region that fails but has not reached `failureThreshold`, if that is sooner than its next regular check. Null: no extra checks.',
    ),
  recoveryThreshold: boundedInteger(LIMITS.recoveryThreshold.min, LIMITS.recoveryThreshold.max).describe(
    'Consecutive passing checks after which a failing region counts as recovered.',
  ),
  regions: regionList.describe('Codes of the regions that check it. Empty: the default region.'),
  runbookUrl: httpUrl.nullable().describe('What to do when it is `DOWN`. Sent with webhooks and alerts.'),
  ...identifiers('in the account'),
  labels: labelsSchema
    .nullable()
    .transform((labels) => labels ?? {})
    .describe(
      'Keys and values that selectors match, with the syntax of Kubernetes labels; replaced as a whole. Null: none.',
    ),
};

export const createMonitorSchema = z
  .strictObject({
    ...fields,
    type: fields.type.default('HTTP'),
    interval: fields.interval.default(LIMITS.intervalSeconds.default),
    timeout: fields.timeout.default(LIMITS.timeoutSeconds.default),
    enabled: fields.enabled.default(true),
    method: fields.method.default('GET'),
    headers: fields.headers.default(null),
    body: fields.body.default(null),
    followRedirects: fields.followRedirects.default(true),
    ipFamily: fields.ipFamily.default(null),
    connectTo: fields.connectTo.default(null),
    tls: fields.tls.default(null),
    assertions: fields.assertions.default(null),
    failureThreshold: fields.failureThreshold.default(LIMITS.failureThreshold.default),
    retryInterval: fields.retryInterval.default(null),
    recoveryThreshold: fields.recoveryThreshold.default(LIMITS.recoveryThreshold.default),
    regions: fields.regions.default([]),
    runbookUrl: fields.runbookUrl.default(null),
    externalId: fields.externalId.default(null),
    source: fields.source.default(null),
    // Some code generators refuse an object as the default of a nullable field. Null means the same.
    labels: fields.labels.default({}).meta({ default: null }),
  })
  .meta({ id: 'MonitorCreate', description: 'A new monitor: only `name` and `url` must be given.' });

/** All fields of a monitor, with defaults or merged from an update. */
export type MonitorInput = z.infer<typeof createMonitorSchema>;

export const MONITOR_DEFAULTS: Omit<MonitorInput, 'name' | 'url'> = createMonitorSchema
  .omit({ name: true, url: true })
  .parse({});

export const updateMonitorSchema = z.strictObject(fields).partial().meta({
  id: 'MonitorUpdate',
  description: 'The fields to change. Objects and lists are replaced as a whole; `null` clears a field.',
});
export type MonitorUpdate = z.infer<typeof updateMonitorSchema>;

/** Rules between fields, checked at creation and on the merged monitor of an update. */
export function monitorConflicts(input: Pick<MonitorInput, 'method' | 'assertions'>): FieldError[] {
  if (input.method !== 'HEAD') return [];
  return BODY_ASSERTIONS.filter((key) => input.assertions?.[key] !== undefined).map((key) => ({
    path: `assertions.${key}`,
    message: 'cannot be used with method HEAD: its responses have no body. Use GET or remove the assertion',
  }));
}

export const monitorSchema = z
  .strictObject({
    id: z.uuid().describe('Used in paths and events.'),
    ...fields,
    headers: requestHeaders
      .nullable()
      .describe(
        `Headers that each check sends. Every value is \`${HIDDEN_SECRET}\` for an API key without the scope \`write\`.`,
      ),
    body: requestBody
      .nullable()
      .describe(
        `Sent by checks with \`POST\`, \`PUT\` or \`PATCH\`. \`${HIDDEN_SECRET}\` for an API key without the scope \`write\`.`,
      ),
    tls: tlsSchema.nullable().describe('TLS settings: server name, trusted CAs and client certificate.'),
    labels: labelsSchema.describe('Keys and values that selectors match.'),
    status: z.enum(MONITOR_STATUSES).describe('`PENDING` until the first check completes.'),
    statusSince: timestamp.describe('When the status last changed.'),
    errorDetail: z
      .string()
      .nullable()
      .describe('Why it is `DOWN`, in words, as of the status change; null for any other status.'),
    lastCheckedAt: timestamp
      .nullable()
      .describe('The last check that was conclusive. Null if there is none yet.'),
    createdAt: timestamp,
    updatedAt: timestamp.describe('When its fields were last changed.'),
  })
  .meta({
    id: 'Monitor',
    description: 'A URL to check, how often, how, and from where. Fields that are not set are null.',
  });
export type Monitor = z.infer<typeof monitorSchema>;

export const listedMonitorSchema = monitorSchema
  .extend({ etag })
  .meta({ id: 'ListedMonitor', description: 'A monitor in a list, with its `ETag`.' });

export const monitorsQuerySchema = z.object({
  source: sourceFilter,
  labels: selectorParameter
    .optional()
    .describe(
      "Only monitors with matching labels, in kubectl's syntax: `app=shop,tier in (web,api),!legacy`.",
    ),
});

/** Fields for rules between fields, even if other fields are invalid. */
const conflictSchema = createMonitorSchema.pick({ method: true, assertions: true }).strip();
const tlsOnlySchema = createMonitorSchema.pick({ tls: true }).strip();

/**
 * Validates a complete monitor by a schema and by other rules. `input` includes defaults, or is null if there are errors.
 * @param findErrors defaults to the rules between fields. Servers also check expressions, certificates and keys
 */
export function validateMonitor<Schema extends z.ZodObject>(
  schema: Schema,
  fields: unknown,
  findErrors: (input: Pick<MonitorInput, 'method' | 'assertions' | 'tls'>) => FieldError[] = monitorConflicts,
): { input: z.output<Schema> | null; errors: FieldError[] } {
  const result = schema.safeParse(fields);
  const conflicts = conflictSchema.safeParse(fields);
  const tls = tlsOnlySchema.safeParse(fields).data?.tls ?? null;
  const errors = [
    ...(result.success ? [] : toFieldErrors(result.error.issues, schema)),
    ...findErrors({ ...(conflicts.data ?? { method: 'GET', assertions: null }), tls }),
  ];
  return { input: result.success && errors.length === 0 ? result.data : null, errors };
}
