import type { JsonCondition } from '@tocsin/contracts/monitors/assertions';

/** Converts a path such as `a.b[0].c` to JSONPath. Returns null for other syntax. */
export function toJsonPath(path: string): string | null {
  const steps = [...path.matchAll(/\.?([^.[\]]+)|\[-?\d+\]/g)];
  if (steps.map(([step]) => step).join('') !== path) return null;
  const names = steps.map(([step, name]) => {
    if (name === undefined) return step;
    return /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
  });
  return `$${names.join('')}`;
}

/** Tests an expression such as `$.a >= 1`, which selects every part of the body or none. */
export function whereJson(expression: string, exists = true): JsonCondition {
  return { path: `$[?${expression}]`, exists };
}

/** Matches the number 1 and the text `1`, because Gatus and Uptime Kuma compare texts. */
export function equalsText(path: string, text: string): JsonCondition {
  return SCALAR.test(text) ? { path, matches: `^${quoteExpression(text)}$` } : { path, equals: text };
}

/** Returns an expression for `whereJson`. */
export function equalsAny(path: string, texts: readonly string[]): string {
  const literals = texts.flatMap((text) => [JSON.stringify(text), ...(SCALAR.test(text) ? [text] : [])]);
  return literals.map((literal) => `${path} == ${literal}`).join(' || ');
}

const SCALAR = /^(?:true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?)$/;

/** @param operator `<`, `<=`, `>` or `>=` */
export function compareNumber(
  path: string,
  operator: string,
  expected: number,
  remarks: string[],
): JsonCondition {
  remarks.push(`${path} must be a JSON number, not a number in quotes`);
  if (operator === '<') return { path, lessThan: expected };
  if (operator === '>') return { path, greaterThan: expected };
  return whereJson(`${path} ${operator} ${expected}`);
}

/** Quotes text for a regular expression in RE2 syntax. */
export function quoteExpression(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}
