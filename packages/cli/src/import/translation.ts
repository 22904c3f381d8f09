import { LIMITS } from '@tocsin/contracts/limits';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import { HTTP_METHODS } from '@tocsin/contracts/vocabulary';
import { z } from 'zod';
import { keyFor, type PlainMonitor } from '../files/write-monitors.ts';

/** Headers in the file of another tool, where numbers and booleans may have no quotes. */
export const headerValues = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean()]).transform(String),
);

/** A monitor of another tool, translated. */
export interface Translation {
  readonly name: string;
  /** Null: Tocsin cannot check it; `remarks` say why. */
  readonly fields: Readonly<Record<string, unknown>> | null;
  /** What was not imported. */
  readonly remarks: readonly string[];
}

export function skipped(name: string, reason: string): Translation {
  return { name, fields: null, remarks: [`skipped: ${reason}`] };
}

/**
 * Gives each monitor an externalId, and skips monitors that the API would refuse.
 * @param replaceVariables makes a URL with variables valid, for validation; null: the tool has no variables
 * @returns the remarks with the name of their monitor
 */
export function validateTranslations(
  translations: readonly Translation[],
  replaceVariables: ((url: string) => string) | null,
): { monitors: PlainMonitor[]; remarks: string[] } {
  const taken = new Set<string>();
  const monitors: PlainMonitor[] = [];
  const remarks: string[] = [];
  for (const { name, fields, remarks: own } of translations) {
    remarks.push(...own.map((remark) => `${name}: ${remark}`));
    if (fields === null) continue;
    const externalId = keyFor(name, taken);
    const url = replaceVariables === null ? fields['url'] : replaceVariables(String(fields['url']));
    const { errors } = validateMonitor(monitorSetEntrySchema, { externalId, ...fields, url });
    if (errors.length === 0) monitors.push({ externalId, fields });
    else remarks.push(...errors.map(({ path, message }) => `${name}: skipped: ${path} ${message}`));
  }
  return { monitors, remarks };
}

/** A whole number of seconds within the limits of a field. A remark reports a changed value. */
export function seconds(
  given: unknown,
  field: 'interval' | 'timeout',
  remarks: string[],
): number | undefined {
  if (typeof given !== 'number' || !Number.isFinite(given)) return undefined;
  const { min, max } = field === 'interval' ? LIMITS.intervalSeconds : LIMITS.timeoutSeconds;
  const rounded = Math.min(Math.max(Math.round(given), min), max);
  if (rounded !== given) remarks.push(`${field} changed from ${given} s to ${rounded} s`);
  return rounded;
}

/** Null if Tocsin supports the method. */
export function unsupportedMethod(method: string | null | undefined): string | null {
  const isSupported = (HTTP_METHODS as readonly string[]).includes(method ?? 'GET');
  return isSupported ? null : `method ${method} is not supported; use ${HTTP_METHODS.join(', ')}`;
}

/** The body that a monitor with this method may have. */
export function bodyFor(method: string, body: string | null | undefined): string | null {
  return ['POST', 'PUT', 'PATCH'].includes(method) ? (body ?? null) : null;
}
