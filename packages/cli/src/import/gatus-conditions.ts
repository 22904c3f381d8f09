import { type Assertions, assertionsSchema, type JsonCondition } from '@tocsin/contracts/monitors/assertions';
import { LIMITS } from '@tocsin/contracts/limits';
import { containsVariable } from '../files/interpolate.ts';
import {
  compareNumber,
  equalsAny,
  equalsText,
  quoteExpression,
  toJsonPath,
  whereJson,
} from './json-condition.ts';

/** Converts conditions, which must all hold. @param remarks receives those without an equivalent */
export function assertionsOf(conditions: readonly string[], remarks: string[]): Assertions {
  let codes = CODES;
  let assertions: Assertions = {};
  for (const text of conditions) {
    const condition = parseCondition(text);
    if (condition?.placeholder === 'STATUS') {
      const passing = passingCodes(condition, codes);
      if (passing.length > 0) codes = passing;
      else remarks.push(`not imported: condition ${text}`);
      continue;
    }
    let found = condition === null ? null : convert(condition, remarks);
    if (found?.bodyContains !== undefined && assertions.bodyContains !== undefined)
      found = { bodyMatches: quoteExpression(found.bodyContains) };
    const { json = [], ...others } = assertions;
    if (Object.keys(found ?? {}).some((key) => key in others)) {
      remarks.push(`not imported: condition ${text}, because there is another one of its kind`);
      continue;
    }
    const merged = { ...assertions, ...found, ...(found?.json && { json: [...json, ...found.json] }) };
    if (found !== null && assertionsSchema.safeParse(merged).success) assertions = merged;
    else remarks.push(`not imported: condition ${text}`);
  }
  const [only] = codes;
  return { ...(codes.length === 1 ? { statusCode: only } : { statusCodes: toRanges(codes) }), ...assertions };
}

/** `len([BODY].items) > 0` has the call `len`, the placeholder `BODY` and the path `.items`. */
interface Condition {
  readonly call: string;
  readonly placeholder: string;
  readonly path: string;
  readonly operator: string;
  readonly value: string;
}

function parseCondition(text: string): Condition | null {
  const [, side, operator, value = ''] = /^\s*(.*?) (==|!=|<=|>=|<|>) (.*?)\s*$/s.exec(text) ?? [];
  const [, call = '', inner = side] = /^(len|has)\((.*)\)$/s.exec(side ?? '') ?? [];
  const [, placeholder, path = ''] = /^\[([A-Z_]+)\](.*)$/is.exec(inner ?? '') ?? [];
  if (operator === undefined || placeholder === undefined) return null;
  return { call, placeholder: placeholder.toUpperCase(), path, operator, value };
}

/** Returns the status codes that pass. Without a condition, Gatus accepts all. */
const CODES: readonly number[] = Array.from({ length: 500 }, (_, index) => index + 100);

function passingCodes({ operator, value }: Condition, codes: readonly number[]): readonly number[] {
  const pattern = toPattern(value);
  const limit = Number(value);
  if (pattern === null) return [];
  return codes.filter((code) => {
    if (operator === '==' || operator === '!=')
      return new RegExp(`^(?:${pattern})$`).test(String(code)) === (operator === '==');
    const difference = operator.startsWith('<') ? limit - code : code - limit;
    return operator.endsWith('=') ? difference >= 0 : difference > 0;
  });
}

function toRanges(codes: readonly number[]): (number | string)[] {
  const firsts = codes.filter((code) => !codes.includes(code - 1));
  const lasts = codes.filter((code) => !codes.includes(code + 1));
  return firsts.map((first, index) => (first === lasts[index] ? first : `${first}-${lasts[index]}`));
}

const DAY_MS = 86_400_000;

/** Returns null without an equivalent. */
function convert(condition: Condition, remarks: string[]): Assertions | null {
  const { call, placeholder, path, operator, value } = condition;
  if (placeholder === 'BODY' && path === '' && (operator === '==' || operator === '!='))
    return call === '' ? bodyAssertion(operator, value) : null;
  if (placeholder === 'BODY') {
    const json = jsonCondition(condition, remarks);
    return json === null ? null : { json: [json] };
  }
  if (placeholder === 'CONNECTED') return operator === '==' && value === 'true' ? {} : null;
  const number = toNumber(value);
  if (number === null) return null;
  if (placeholder === 'RESPONSE_TIME' && operator.startsWith('<'))
    // `maxLatency` is inclusive.
    return { maxLatency: Math.min(operator === '<' ? number - 1 : number, LIMITS.maxLatencyMs) };
  if (placeholder === 'CERTIFICATE_EXPIRATION' && operator.startsWith('>'))
    return { certificateMinDays: Math.max(Math.ceil(number / DAY_MS), 1) };
  return null;
}

function bodyAssertion(operator: string, value: string): Assertions | null {
  const part = /^pat\(\*([^*?[\]\\]+)\*\)$/s.exec(value)?.[1];
  if (part !== undefined) return operator === '==' ? { bodyContains: part } : { bodyNotContains: part };
  const pattern = operator === '==' ? toPattern(value) : null;
  // Gatus removes spaces around the body.
  return pattern === null ? null : { bodyMatches: String.raw`^\s*(?:${pattern})\s*$` };
}

function jsonCondition({ call, path, operator, value }: Condition, remarks: string[]): JsonCondition | null {
  const at = toJsonPath(path);
  if (at === null || containsVariable(path)) return null;
  const isEqual = operator === '==';
  if (call === 'has') {
    // Gatus treats null as absent.
    const isBoolean = /^[=!]=(?:true|false)$/.test(operator + value);
    return isBoolean ? whereJson(`${at} && ${at} != null`, isEqual === (value === 'true')) : null;
  }
  if (call === 'len' || !(isEqual || operator === '!=')) {
    const number = toNumber(value);
    if (number === null) return null;
    return call === 'len'
      ? whereJson(`length(${at}) ${operator} ${number}`)
      : compareNumber(at, operator, number, remarks);
  }
  const texts = toTexts(value);
  if (!isEqual) return texts === null ? null : whereJson(equalsAny(at, texts), false);
  if (texts?.length === 1) return equalsText(at, value);
  const pattern = toPattern(value);
  return pattern === null ? null : { path: at, matches: `^(?:${pattern})$` };
}

/** Lists what a value may equal. Returns null for other functions and placeholders. */
function toTexts(value: string): string[] | null {
  const options = /^any\((.*)\)$/s.exec(value)?.[1];
  if (options !== undefined) return options.split(',').map((option) => option.trim());
  return /^(?:any|pat|len|has)\(|^\[[A-Z_]+\]/.test(value) ? null : [value];
}

/** Returns a regular expression, in RE2 syntax, of all texts that equal a value. Returns null if there is none. */
function toPattern(value: string): string | null {
  if (containsVariable(value)) return null;
  const glob = /^pat\(([^[\]\\]*)\)$/s.exec(value)?.[1];
  if (glob === undefined) return toTexts(value)?.map(quoteExpression).join('|') ?? null;
  return quoteExpression(glob)
    .replaceAll(String.raw`\*`, String.raw`[\s\S]*`)
    .replaceAll(String.raw`\?`, String.raw`[\s\S]`);
}

/** Returns milliseconds for a duration. Returns null if the text is not a number. */
function toNumber(text: string): number | null {
  const seconds = durationSeconds(text);
  if (seconds !== null) return Math.floor(seconds * 1_000);
  return /^-?\d+$/.test(text) ? Number(text) : null;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600 };

/** Parses a Go duration such as `1m30s`. Returns null for other text. */
export function durationSeconds(duration: string): number | null {
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== duration.trim()) return null;
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNIT_SECONDS[unit] ?? 0), 0);
}
