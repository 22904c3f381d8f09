import type { CheckRecord } from '../checks/check-record.ts';

let slot = 1_800_000_000_000;

/** Makes a passing check in its own slot, with the given fields replaced. */
export function checkOf(monitorId: string, fields: Partial<CheckRecord> = {}): CheckRecord {
  slot += 1_000;
  return {
    monitorId,
    region: 'default',
    revision: 1,
    slot,
    source: 'schedule',
    triggerId: null,
    urlOverride: null,
    status: 'UP',
    latencyMs: 12,
    statusCode: 200,
    errorReason: null,
    errorDetail: null,
    timings: { dns: 1, tcp: 2, tls: 3, firstByte: 4, download: 2 },
    certificateExpiresAt: null,
    network: null,
    response: null,
    ...fields,
  };
}

export function failureOf(monitorId: string, fields: Partial<CheckRecord> = {}): CheckRecord {
  return checkOf(monitorId, {
    status: 'DOWN',
    statusCode: 500,
    errorReason: 'HTTP_500',
    errorDetail: 'responded with 500',
    latencyMs: 31,
    ...fields,
  });
}
