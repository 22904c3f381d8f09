import type { Labels } from '@tocsin/contracts/labels/labels';
import { labelsSchema } from '@tocsin/contracts/labels/selector';

/** Splits `key=value`. Text without a `=` is a key with an empty value. */
function splitLabel(text: string): readonly [key: string, value: string] {
  const [key = '', ...rest] = text.split('=');
  return [key.trim(), rest.join('=').trim()];
}

/** Parses texts such as `app=shop`. The last value of a key wins. */
export function toLabels(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map(splitLabel));
}

/** The first error, such as a duplicate key or an invalid label, or null. */
export function findLabelError(texts: readonly string[]): string | null {
  const keys = texts.map((text) => splitLabel(text)[0]);
  const repeated = keys.find((key, position) => keys.indexOf(key) < position);
  if (repeated !== undefined) return `${repeated}: is given twice`;
  const [issue] = labelsSchema.safeParse(toLabels(texts)).error?.issues ?? [];
  return issue === undefined ? null : [...issue.path, issue.message].join(': ');
}

/** Sorted label keys of all monitors. */
export function keysOf(monitors: readonly { readonly labels: Labels }[]): string[] {
  return [...new Set(monitors.flatMap(({ labels }) => Object.keys(labels)))].sort();
}
