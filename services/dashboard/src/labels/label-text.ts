import { type Labels, labelsSchema } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { formatSelector, parseSelector, SelectorSyntaxError } from '@tocsin/contracts/labels/selector-syntax';

interface SelectorReading {
  /** Null if the text is blank or invalid. */
  readonly selector: Selector | null;
  /** Null if the text is valid. */
  readonly error: string | null;
}

/** Reads a selector in kubectl's syntax, such as `app=shop,tier in (web,api)`. */
export function readSelector(text: string): SelectorReading {
  if (text.trim() === '') return { selector: null, error: null };
  try {
    return { selector: parseSelector(text), error: null };
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return { selector: null, error: error.message };
    throw error;
  }
}

/** Adds a condition on a label to a selector, in place of another value of this label. An invalid selector is replaced. */
export function withLabel(text: string, key: string, value: string): string {
  const { matchLabels, ...rest } = readSelector(text).selector ?? {};
  return formatSelector({ ...rest, matchLabels: { ...matchLabels, [key]: value } });
}

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
