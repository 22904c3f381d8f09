import type { HeaderCondition, JsonCondition } from '@tocsin/contracts/monitors/assertions';
import { type Budget, BudgetExceededError, MAX_STEPS } from './budget.ts';
import { containsText } from './contains-text.ts';
import { plural } from './describe-error.ts';
import { jsonEquals } from './json-equals.ts';
import { selectJson } from './json-path.ts';
import { matchesExpression } from './regular-expression.ts';

const QUOTED_CHARACTERS = 80;
/** Searching a longer text for secrets takes too long, and its beginning may be half a secret. */
const REDACTED_CHARACTERS = 8_192;
const MAX_SHOWN_VALUES = 3;
const TOO_COSTLY = `too costly for this response: the assertions of a check may take ${MAX_STEPS} steps`;

/** Result of one assertion, in words. */
export interface Outcome {
  /** Path in `assertions`, such as `json.0`. */
  readonly assertion: string;
  /** Null if it passes. */
  readonly failure: string | null;
  /** Describes what a passing assertion has seen. */
  readonly seen: () => string;
}

/** Evaluates one assertion. Too much work is a failure. */
export function outcomeOf(
  assertion: string,
  subject: string,
  evaluate: () => Pick<Outcome, 'failure' | 'seen'>,
): Outcome {
  try {
    return { assertion, ...evaluate() };
  } catch (error) {
    if (!(error instanceof BudgetExceededError)) throw error;
    const failure = `${subject}: ${TOO_COSTLY}`;
    return { assertion, failure, seen: () => failure };
  }
}

/** @param values of the header. @param show removes secrets from a value */
export function evaluateHeader(
  assertion: string,
  condition: HeaderCondition,
  values: readonly string[],
  show: (value: string) => string,
  budget: Budget,
): Outcome {
  const subject = `header ${condition.name}`;
  return outcomeOf(assertion, subject, () => {
    const holds = isMet(condition, values, budget);
    const got = (): string =>
      values.length === 0 ? 'no such header' : list(values, (value) => quoteJson(show(value)));
    return resultOf(subject, condition, holds, got);
  });
}

export function evaluateJson(
  assertion: string,
  condition: JsonCondition,
  document: unknown,
  redact: (text: string) => string,
  budget: Budget,
): Outcome {
  const subject = `JSON path ${cut(condition.path)}`;
  return outcomeOf(assertion, subject, () => {
    const values = selectJson(condition.path, document, budget);
    const holds = isMet(condition, values, budget);
    const got = (): string =>
      values.length === 0 ? 'nothing' : list(values, (value) => showValue(value, redact));
    return resultOf(subject, condition, holds, got);
  });
}

function resultOf(
  subject: string,
  condition: HeaderCondition | JsonCondition,
  holds: boolean,
  got: () => string,
): Pick<Outcome, 'failure' | 'seen'> {
  const failure = holds ? null : `${subject}: expected ${expectedWords(condition)}, got ${got()}`;
  return { failure, seen: () => `${subject}: got ${got()}` };
}

function isMet(
  condition: HeaderCondition | JsonCondition,
  values: readonly unknown[],
  budget: Budget,
): boolean {
  if (condition.exists === false) return values.length === 0;
  return values.some((value) => passes(condition, value, budget));
}

function passes(condition: HeaderCondition | JsonCondition, value: unknown, budget: Budget): boolean {
  const { equals, contains, matches, lessThan, greaterThan }: Partial<JsonCondition> = condition;
  budget.spend(1);
  if (equals !== undefined && !jsonEquals(value, equals, budget)) return false;
  if (lessThan !== undefined && !(typeof value === 'number' && value < lessThan)) return false;
  if (greaterThan !== undefined && !(typeof value === 'number' && value > greaterThan)) return false;
  if (contains === undefined && matches === undefined) return true;
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  if (typeof text !== 'string') return false;
  budget.spend(text.length / 100);
  if (contains !== undefined && !containsText(text, contains)) return false;
  return matches === undefined || matchesExpression(matches, text, budget);
}

function expectedWords(condition: HeaderCondition | JsonCondition): string {
  const { equals, contains, matches, exists, lessThan, greaterThan }: Partial<JsonCondition> = condition;
  const words = [
    equals !== undefined && quoteJson(equals),
    contains !== undefined && `text that contains ${quoteJson(contains)}`,
    matches !== undefined && `a match of ${quoteExpression(matches)}`,
    greaterThan !== undefined && `more than ${greaterThan}`,
    lessThan !== undefined && `less than ${lessThan}`,
  ].filter((text) => text !== false);
  if (words.length > 0) return words.join(' and ');
  return exists === false ? 'nothing' : 'a value';
}

function showValue(value: unknown, redact: (text: string) => string): string {
  if (Array.isArray(value)) return `an array of ${plural(value.length, 'element')}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value === 'string' && value.length > REDACTED_CHARACTERS)
    return `a text of ${value.length} characters`;
  if (typeof value === 'string') return quoteJson(redact(value));
  return redact(JSON.stringify(value));
}

function list<Value>(values: readonly Value[], show: (value: Value) => string): string {
  const shown = values.slice(0, MAX_SHOWN_VALUES).map(show).join(', ');
  const more = values.length - MAX_SHOWN_VALUES;
  return more > 0 ? `${shown} and ${more} more` : shown;
}

function quoteJson(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(cut(value)) : cut(JSON.stringify(value));
}

export function quoteExpression(pattern: string): string {
  return `/${cut(pattern)}/`;
}

export function cut(text: string): string {
  return text.length > QUOTED_CHARACTERS ? `${text.slice(0, QUOTED_CHARACTERS)}…` : text;
}
