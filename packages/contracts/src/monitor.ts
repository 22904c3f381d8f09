import { z } from 'zod';
import { httpUrl } from './http-url.ts';
import { LIMITS, REGION_PATTERN } from './limits.ts';
import { requestHeaders } from './request-headers.ts';
import { boundedInteger, label, oneOf, storableText } from './text.ts';
import { HTTP_METHODS, MONITOR_STATUSES, MONITOR_TYPES } from './vocabulary.ts';

const assertionText = storableText
  .min(1, { error: 'must not be empty' })
  .max(LIMITS.assertionTextCharacters, {
    error: `must be at most ${LIMITS.assertionTextCharacters} characters`,
  });

/** Rules that must all pass for a check to count as UP. Unknown keys are refused (design §3). */
export const assertionsSchema = z
  .strictObject({
    statusCode: boundedInteger(100, 599).optional(),
    bodyContains: assertionText.optional(),
    bodyNotContains: assertionText.optional(),
    maxLatency: boundedInteger(1, LIMITS.maxLatencyMs, 'milliseconds').optional(),
    certificateMinDays: boundedInteger(1, LIMITS.certificateMinDays, 'days').optional(),
  })
  .meta({ id: 'Assertions' });
export type Assertions = z.infer<typeof assertionsSchema>;

const regionCode = z.string({ error: 'must be a string' }).regex(REGION_PATTERN, {
  error: 'must be a region code: 1 to 63 lower-case letters, digits or hyphens, not starting with a hyphen',
});

const regionList = z
  .array(regionCode, { error: 'must be an array of region codes' })
  .max(LIMITS.regionCount, { error: `must hold at most ${LIMITS.regionCount} regions` })
  .refine((regions) => new Set(regions).size === regions.length, { error: 'must not name a region twice' });

const utf8 = new TextEncoder();
const requestBody = storableText.refine((body) => utf8.encode(body).length <= LIMITS.requestBodyBytes, {
  error: `must be at most ${LIMITS.requestBodyBytes} bytes`,
});

/**
 * The field rules of a monitor, without defaults. `null` clears the fields that have no default; for the others it is an error.
 * Specification "Monitor (input fields)"; names and bounds: design §3.
 */
const fields = {
  name: label(LIMITS.nameCharacters),
  url: httpUrl,
  type: oneOf(MONITOR_TYPES),
  interval: boundedInteger(LIMITS.intervalSeconds.min, LIMITS.intervalSeconds.max, 'seconds'),
  timeout: boundedInteger(LIMITS.timeoutSeconds.min, LIMITS.timeoutSeconds.max, 'seconds'),
  method: oneOf(HTTP_METHODS),
  headers: requestHeaders.nullable(),
  body: requestBody.nullable(),
  assertions: assertionsSchema.nullable(),
  failureThreshold: boundedInteger(LIMITS.failureThreshold.min, LIMITS.failureThreshold.max),
  regions: regionList,
  runbookUrl: httpUrl.nullable(),
  externalId: label(LIMITS.externalIdCharacters).nullable(),
  source: label(LIMITS.externalIdCharacters).nullable(),
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
  .meta({ id: 'MonitorCreate' });

/** A complete set of input fields: a create body with its defaults filled in, or a merged update. */
export type MonitorInput = z.infer<typeof createMonitorSchema>;

/** Body of "update a monitor": any subset; omitted fields stay as they are. */
export const updateMonitorSchema = z.strictObject(fields).partial().meta({ id: 'MonitorUpdate' });
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
    id: z.uuid(),
    ...fields,
    status: z.enum(MONITOR_STATUSES),
    statusSince: timestamp,
    lastCheckedAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Monitor' });
export type Monitor = z.infer<typeof monitorSchema>;
