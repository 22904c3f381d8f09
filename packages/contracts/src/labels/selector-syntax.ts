import { labelKeyProblem, type Labels, labelValueProblem } from './labels.ts';
import type { Selector, SelectorRequirement } from './selector.ts';

/** Reports an invalid selector with the position and the valid forms. */
export class SelectorSyntaxError extends Error {
  override readonly name = 'SelectorSyntaxError';
}

const TOKEN = /\s*(?:(==|!=|[=!(),])|([^\s=!(),]+)|$)/y;
const FORMS = 'use key=value, key!=value, key in (a,b), key notin (a,b), key or !key, separated by commas';

/**
 * Parses a selector in kubectl's syntax, such as `app=shop,tier in (web,api),!legacy`. Blank text selects every monitor.
 * @throws SelectorSyntaxError
 */
export function parseSelector(text: string): Selector {
  const tokens = tokensOf(text);
  if (tokens[0] === undefined) return {};
  const requirements: SelectorRequirement[] = [];
  for (;;) {
    requirements.push(readRequirement(tokens));
    const next = tokens.shift();
    if (next === undefined) return toSelector(requirements);
    if (next !== ',') throw unexpected(next);
  }
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match?.[0].trim(); match = TOKEN.exec(text))
    tokens.push(match[0].trim());
  return tokens;
}

function readRequirement(tokens: string[]): SelectorRequirement {
  const isNegated = tokens[0] === '!';
  if (isNegated) tokens.shift();
  const key = readWord(tokens, 'key', labelKeyProblem);
  const [next] = tokens;
  if (isNegated || next === undefined || next === ',') {
    if (next !== undefined && next !== ',') throw unexpected(next);
    return { key, operator: isNegated ? 'DoesNotExist' : 'Exists' };
  }
  tokens.shift();
  if (next === '=' || next === '==') return { key, operator: 'In', values: [readValue(tokens)] };
  if (next === '!=') return { key, operator: 'NotIn', values: [readValue(tokens)] };
  if (next === 'in' || next === 'notin') {
    return { key, operator: next === 'in' ? 'In' : 'NotIn', values: readList(tokens) };
  }
  throw unexpected(next);
}

function readList(tokens: string[]): string[] {
  const values: string[] = [];
  for (let token = tokens.shift(); token !== ')'; token = tokens.shift()) {
    if (token !== (values.length === 0 ? '(' : ',')) throw unexpected(token);
    values.push(readValue(tokens));
  }
  return values;
}

/** A missing value is an empty string. */
function readValue(tokens: string[]): string {
  return tokens[0] === undefined || tokens[0] === ',' || tokens[0] === ')'
    ? ''
    : readWord(tokens, 'value', labelValueProblem);
}

function readWord(tokens: string[], what: string, problemOf: (word: string) => string | null): string {
  const word = tokens.shift();
  if (word === undefined || /^[=!(),]/.test(word)) throw unexpected(word, what);
  const problem = problemOf(word);
  if (problem !== null) throw new SelectorSyntaxError(`"${word}" is not a valid ${what}: it ${problem}`);
  return word;
}

function unexpected(token: string | undefined, instead?: string): SelectorSyntaxError {
  const found = token === undefined ? 'ends too early' : `has an unexpected "${token}"`;
  const wanted = instead === undefined ? '' : ` where a ${instead} should be`;
  return new SelectorSyntaxError(`The selector ${found}${wanted}: ${FORMS}`);
}

/** Converts the first equality of each key to a match label. */
function toSelector(requirements: readonly SelectorRequirement[]): Selector {
  const matchLabels = new Map<string, string>();
  const matchExpressions = requirements.filter(({ key, operator, values = [] }) => {
    const [value, ...more] = values;
    if (operator !== 'In' || value === undefined || more.length > 0 || matchLabels.has(key)) return true;
    matchLabels.set(key, value);
    return false;
  });
  return {
    ...(matchLabels.size > 0 && { matchLabels: Object.fromEntries(matchLabels) }),
    ...(matchExpressions.length > 0 && { matchExpressions }),
  };
}

/** Formats a selector in kubectl's syntax. Empty if it selects every monitor. */
export function formatSelector({ matchLabels = {}, matchExpressions = [] }: Selector): string {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      if (operator === 'Exists') return key;
      if (operator === 'DoesNotExist') return `!${key}`;
      const [value = '', ...more] = values;
      if (operator === 'NotIn' && more.length === 0) return `${key}!=${value}`;
      return `${key} ${operator.toLowerCase()} (${values.join(',')})`;
    }),
  ].join(',');
}

/** True if all conditions of a selector hold for the labels. */
export function matchesSelector(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Labels,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every((requirement) => meets(labels, requirement))
  );
}

function meets(labels: Labels, { key, operator, values = [] }: SelectorRequirement): boolean {
  const value = labelOf(labels, key);
  const isListed = value !== undefined && values.includes(value);
  return { In: isListed, NotIn: !isListed, Exists: value !== undefined, DoesNotExist: value === undefined }[
    operator
  ];
}

/** Ignores inherited properties, because keys such as `constructor` are valid. */
function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
