import { createHash } from 'node:crypto';
import { labelKeyProblem } from '@tocsin/contracts/labels/labels';
import { LIMITS } from '@tocsin/contracts/limits';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import { HTTP_METHODS } from '@tocsin/contracts/vocabulary';
import { z } from 'zod';
import { containsVariable } from '../files/interpolate.ts';
import { keyFor, type PlainMonitor } from '../files/write-monitors.ts';

/** Text that may be written as a number or boolean without quotes. */
const textValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);
export const textValues = z.record(z.string(), textValue);

export interface ImportedChannel {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A monitor converted from another tool. */
export interface Translation {
  readonly name: string;
  /** Distinguishes monitors whose names have the same words. */
  readonly identity?: unknown;
  /** Requirements that prevent the monitor from passing, such as `NTLM authentication`. */
  readonly missing?: readonly string[];
  /** Null if Tocsin cannot check the monitor, as `remarks` explain. */
  readonly fields: Readonly<Record<string, unknown>> | null;
  readonly channels?: readonly ImportedChannel[];
  /** Explains omissions. */
  readonly remarks: readonly string[];
}

export interface Imported {
  readonly translations: readonly Translation[];
  /** Explains omissions that do not concern a single monitor. */
  readonly remarks: readonly string[];
}

export function skipped(name: string, reason: string): Translation {
  return { name, fields: null, remarks: [`skipped: ${reason}`] };
}

export interface ImportedMonitor extends PlainMonitor {
  /** Not empty if the monitor cannot pass. */
  readonly missing: readonly string[];
  readonly channels: readonly ImportedChannel[];
}

/**
 * Assigns externalIds, and skips monitors that the API would reject.
 * @param replaceVariables makes a URL with variables valid, or null if the tool has no variables
 * @returns remarks start with the monitor's name
 */
export function validateTranslations(
  translations: readonly Translation[],
  replaceVariables: ((url: string) => string) | null,
): { monitors: ImportedMonitor[]; remarks: string[] } {
  const toKey = keysFor(translations);
  const monitors: ImportedMonitor[] = [];
  const remarks: string[] = [];
  for (const translation of translations) {
    const { name, fields, missing = [], channels = [], remarks: own } = translation;
    remarks.push(...own.map((remark) => `${name}: ${remark}`));
    if (fields === null) continue;
    const externalId = toKey(translation);
    const url = replaceVariables === null ? fields['url'] : replaceVariables(String(fields['url']));
    const tls = replaceVariables !== null && containsVariable(fields['tls']) ? null : fields['tls'];
    // `labelsFrom` returns only valid labels, or variables.
    const valid = { externalId, ...fields, url, tls, labels: {} };
    const { errors } = validateMonitor(monitorSetEntrySchema, valid);
    if (errors.length === 0) monitors.push({ externalId, fields, missing, channels });
    else remarks.push(...errors.map(({ path, message }) => `${name}: skipped: ${path} ${message}`));
  }
  return { monitors, remarks };
}

const DIGEST_DIGITS = 6;
/** Leaves room for the digest. */
const MAX_NAME_CHARACTERS = 60;

/** Returns a function that creates externalIds. They do not depend on the order, because all similar names get a digest. */
function keysFor(translations: readonly Translation[]): (translation: Translation) => string {
  const counts = new Map<string, number>();
  for (const { name, fields } of translations) {
    if (fields === null) continue;
    const key = keyFor(name, new Set());
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const taken = new Set<string>();
  return ({ name, identity }) => {
    if (counts.get(keyFor(name, new Set())) === 1) return keyFor(name, taken);
    const digest = createHash('sha256')
      .update(JSON.stringify([name, identity]))
      .digest('hex');
    return keyFor(`${name.slice(0, MAX_NAME_CHARACTERS)} ${digest.slice(0, DIGEST_DIGITS)}`, taken);
  };
}

/** Returns headers with text values, and reports the others as remarks. */
export function headersFrom(
  given: Readonly<Record<string, unknown>>,
  remarks: string[],
): Record<string, string> {
  const headers: [string, string][] = [];
  for (const [name, value] of Object.entries(given)) {
    const { data } = textValue.safeParse(value);
    if (data === undefined) remarks.push(`not imported: header ${name}, whose value is not a text`);
    else headers.push([name, data]);
  }
  return Object.fromEntries(headers);
}

/** Rounds seconds to a whole number within the limits. Returns undefined for the default. Remarks report changes. */
export function seconds(
  given: unknown,
  field: 'interval' | 'timeout' | 'retryInterval' | 'remindAfter',
  remarks: string[],
): number | undefined {
  if (typeof given !== 'number' || !Number.isFinite(given)) return undefined;
  if (given <= 0) {
    remarks.push(`${field} changed from ${given} s to the default`);
    return undefined;
  }
  const { min, max } = LIMITS[`${field}Seconds`];
  const rounded = Math.min(Math.max(Math.round(given), min), max);
  if (rounded !== given) remarks.push(`${field} changed from ${given} s to ${rounded} s`);
  return rounded;
}

/** Characters that a label may not contain. */
const INVALID = /[^A-Za-z0-9_.-]+/g;
const ENDS = /^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g;

/**
 * Converts names from another tool to labels. Remarks report changed and invalid names.
 * @param given keys and values. The first value for a key wins
 * @param isVariable returns true for values to keep
 */
export function labelsFrom(
  given: readonly (readonly [key: string, value: string])[],
  remarks: string[],
  isVariable: (value: string) => boolean = () => false,
): Record<string, string> | undefined {
  const labels = new Map<string, string>();
  for (const [givenKey, givenValue] of given) {
    const text = givenValue === '' ? givenKey : `${givenKey}=${givenValue}`;
    const key = labelKeyProblem(givenKey) === null ? givenKey : toLabelText(givenKey);
    const value = isVariable(givenValue) ? givenValue : toLabelText(givenValue);
    if (key === '') remarks.push(`not imported: label ${text}, which has no letters or digits`);
    else if (labels.has(key)) remarks.push(`not imported: label ${text}, because there is another ${key}`);
    else if (labels.size === LIMITS.labelCount)
      remarks.push(`not imported: label ${text}, because a monitor can have ${LIMITS.labelCount} labels`);
    else {
      labels.set(key, value);
      if (key !== givenKey || value !== givenValue)
        remarks.push(`label ${text} changed to ${value === '' ? key : `${key}=${value}`}`);
    }
  }
  return labels.size === 0 ? undefined : Object.fromEntries(labels);
}

function toLabelText(text: string): string {
  const ascii = text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  const words = ascii.replaceAll(INVALID, '-').replaceAll(ENDS, '');
  return words.slice(0, LIMITS.labelNameCharacters).replaceAll(ENDS, '');
}

/** Returns null if Tocsin supports the method. */
export function unsupportedMethod(method: string | null | undefined): string | null {
  const isSupported = (HTTP_METHODS as readonly string[]).includes(method ?? 'GET');
  return isSupported ? null : `method ${method} is not supported; use ${HTTP_METHODS.join(', ')}`;
}

/** Returns null for methods without a body. */
export function bodyFor(method: string, body: string | null | undefined): string | null {
  return ['POST', 'PUT', 'PATCH'].includes(method) ? (body ?? null) : null;
}
