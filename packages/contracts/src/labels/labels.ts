import { LIMITS } from '../limits.ts';

/** Labels of a monitor, with the syntax of Kubernetes labels. */
export type Labels = Readonly<Record<string, string>>;

const DNS_LABEL = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const PREFIX = new RegExp(`^${DNS_LABEL}(?:\\.${DNS_LABEL})*$`);
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

const CHARACTERS = 'letters, digits, hyphens, underscores and dots, and begin and end with a letter or digit';
const PREFIX_RULE = `must have a DNS name of at most ${LIMITS.labelPrefixCharacters} characters before the slash`;
const NAME_RULE = `must be 1 to ${LIMITS.labelNameCharacters} ${CHARACTERS}, with an optional prefix such as example.com/`;
const VALUE_RULE = `must be empty, or at most ${LIMITS.labelNameCharacters} ${CHARACTERS}`;

/** Returns the error of a label key, or null if it is valid. */
export function labelKeyProblem(key: string): string | null {
  const slash = key.indexOf('/');
  const [prefix, name] = slash < 0 ? [null, key] : [key.slice(0, slash), key.slice(slash + 1)];
  if (prefix !== null && (prefix.length > LIMITS.labelPrefixCharacters || !PREFIX.test(prefix))) {
    return PREFIX_RULE;
  }
  return name.length <= LIMITS.labelNameCharacters && NAME.test(name) ? null : NAME_RULE;
}

/** Returns the error of a label value, or null if it is valid. */
export function labelValueProblem(value: unknown): string | null {
  if (typeof value !== 'string') return 'must be a string';
  if (value === '') return null;
  return value.length <= LIMITS.labelNameCharacters && NAME.test(value) ? null : VALUE_RULE;
}

/** Formats labels as `key=value`, sorted by key. */
export function labelTexts(labels: Labels): string[] {
  return Object.keys(labels)
    .toSorted()
    .map((key) => `${key}=${labels[key]}`);
}
