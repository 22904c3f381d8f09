import type { Labels } from '@tocsin/contracts/labels/labels';
import { labelsSchema } from '@tocsin/contracts/labels/selector';

/** Reads a label: its key, and its value after a `=`. A text without one is a key with an empty value. */
function splitLabel(text: string): readonly [key: string, value: string] {
  const [key = '', ...rest] = text.split('=');
  return [key.trim(), rest.join('=').trim()];
}

/** The labels of texts such as `app=shop`. The last one of a key counts. */
export function toLabels(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map(splitLabel));
}

/** The first error of labels as texts: a key that is given twice, or an invalid label. Null if there is none. */
export function findLabelError(texts: readonly string[]): string | null {
  const keys = texts.map((text) => splitLabel(text)[0]);
  const repeated = keys.find((key, position) => keys.indexOf(key) < position);
  if (repeated !== undefined) return `${repeated}: is given twice`;
  const [issue] = labelsSchema.safeParse(toLabels(texts)).error?.issues ?? [];
  return issue === undefined ? null : [...issue.path, issue.message].join(': ');
}

/** The keys of all labels, sorted. */
export function keysOf(monitors: readonly { readonly labels: Labels }[]): string[] {
  return [...new Set(monitors.flatMap(({ labels }) => Object.keys(labels)))].sort();
}
