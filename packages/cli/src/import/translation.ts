import { createHash } from 'node:crypto';
import { labelKeyProblem } from '@tocsin/contracts/labels/labels';
import { LIMITS } from '@tocsin/contracts/limits';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import { HTTP_METHODS } from '@tocsin/contracts/vocabulary';
import { z } from 'zod';
import { keyFor, type PlainMonitor } from '../files/write-monitors.ts';

/** A text in the file of another tool, where numbers and booleans may have no quotes. */
const textValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);
export const textValues = z.record(z.string(), textValue);

/** A monitor of another tool, translated. */
export interface Translation {
  readonly name: string;
  /** Distinguishes monitors whose names have the same words. */
  readonly identity?: unknown;
  /** Why it cannot pass as it is imported, such as `NTLM authentication`. */
  readonly missing?: readonly string[];
  /** Null: Tocsin cannot check it; `remarks` say why. */
  readonly fields: Readonly<Record<string, unknown>> | null;
  /** What was not imported. */
  readonly remarks: readonly string[];
}

/** A translated file. */
export interface Imported {
  readonly translations: readonly Translation[];
  /** What was not imported and concerns no single monitor. */
  readonly remarks: readonly string[];
}

export function skipped(name: string, reason: string): Translation {
  return { name, fields: null, remarks: [`skipped: ${reason}`] };
}

/** A monitor that cannot pass without what is missing. */
export interface IncompleteMonitor extends PlainMonitor {
  readonly missing: readonly string[];
}

/**
 * Gives each monitor an externalId, and skips monitors that the API would refuse.
 * @param replaceVariables makes a URL with variables valid, for validation; null: the tool has no variables
 * @returns the remarks with the name of their monitor
 */
export function validateTranslations(
  translations: readonly Translation[],
  replaceVariables: ((url: string) => string) | null,
): { monitors: PlainMonitor[]; incomplete: IncompleteMonitor[]; remarks: string[] } {
  const toKey = keysFor(translations);
  const monitors: PlainMonitor[] = [];
  const incomplete: IncompleteMonitor[] = [];
  const remarks: string[] = [];
  for (const translation of translations) {
    const { name, fields, missing = [], remarks: own } = translation;
    remarks.push(...own.map((remark) => `${name}: ${remark}`));
    if (fields === null) continue;
    const externalId = toKey(translation);
    const url = replaceVariables === null ? fields['url'] : replaceVariables(String(fields['url']));
    // `labelsFrom` returns only valid labels, or variables.
    const { errors } = validateMonitor(monitorSetEntrySchema, { externalId, ...fields, url, labels: {} });
    if (errors.length === 0 && missing.length === 0) monitors.push({ externalId, fields });
    else if (errors.length === 0) incomplete.push({ externalId, fields, missing });
    else remarks.push(...errors.map(({ path, message }) => `${name}: skipped: ${path} ${message}`));
  }
  return { monitors, incomplete, remarks };
}

const DIGEST_DIGITS = 6;
/** Leaves room for the digest. */
const MAX_NAME_CHARACTERS = 60;

/** The externalId of each monitor. It does not depend on the order: where names are alike, each one gets a digest. */
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

/** Headers whose values are texts. A remark reports each other one. */
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

/** A whole number of seconds within the limits of a field; undefined: the default, as for 0. A remark reports a changed value. */
export function seconds(
  given: unknown,
  field: 'interval' | 'timeout' | 'retryInterval',
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
 * Labels from names of another tool. A remark reports each name that changed, and each one that cannot be a label.
 * @param given keys and values; the first of a key counts
 * @param isVariable whether a value stays as it is
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

/** Null if Tocsin supports the method. */
export function unsupportedMethod(method: string | null | undefined): string | null {
  const isSupported = (HTTP_METHODS as readonly string[]).includes(method ?? 'GET');
  return isSupported ? null : `method ${method} is not supported; use ${HTTP_METHODS.join(', ')}`;
}

/** The body that a monitor with this method may have. */
export function bodyFor(method: string, body: string | null | undefined): string | null {
  return ['POST', 'PUT', 'PATCH'].includes(method) ? (body ?? null) : null;
}
