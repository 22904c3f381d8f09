import type { Selector } from '@tocsin/contracts/labels/selector';
import { formatSelector, parseSelector, SelectorSyntaxError } from '@tocsin/contracts/labels/selector-syntax';

interface SelectorReading {
  /** Null if the text is blank or invalid. */
  readonly selector: Selector | null;
  /** Null if the text is valid. */
  readonly error: string | null;
}

/** Parses a selector in kubectl's syntax, such as `app=shop,tier in (web,api)`. */
export function readSelector(text: string): SelectorReading {
  if (text.trim() === '') return { selector: null, error: null };
  try {
    return { selector: parseSelector(text), error: null };
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return { selector: null, error: error.message };
    throw error;
  }
}

/** Adds a label condition to a selector, replacing another value of the label. An invalid selector is discarded. */
export function withLabel(text: string, key: string, value: string): string {
  const { matchLabels, ...rest } = readSelector(text).selector ?? {};
  return formatSelector({ ...rest, matchLabels: { ...matchLabels, [key]: value } });
}
