import { isNativeError } from 'node:util/types';

const HIDDEN = '[redacted]';
const MAXIMUM_DEPTH = 8;

/** Fields whose whole value is a secret, whatever it looks like. */
const SECRET_FIELD =
  /^(key|keys|body|token|cookies?|set-cookie|.*(authorization|secret|secrets|password|api-?_?key))$/i;

/** Secrets that show themselves: API keys, webhook secrets, and the password in a URL. */
const SECRET_TEXT: readonly (readonly [RegExp, string])[] = [
  [/tocsin_live_[0-9a-f]{48}/gi, `tocsin_live_${HIDDEN}`],
  [/whsec_[A-Za-z0-9+/=_-]+/g, `whsec_${HIDDEN}`],
  [/([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*):[^\s/@]+@/gi, `$1:${HIDDEN}@`],
];

/** The text without API keys, webhook secrets and passwords in URLs. */
function redactText(text: string): string {
  return SECRET_TEXT.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text);
}

/**
 * A copy that is safe to log and to turn into JSON: secrets hidden, errors as plain objects with stack and cause,
 * cycles and great depths cut.
 */
export function redact(value: unknown): unknown {
  return redactValue(value, []);
}

function redactValue(value: unknown, parents: readonly object[]): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date || value instanceof URL) return redactText(toText(value));
  if (Buffer.isBuffer(value)) return `[${value.length} bytes]`;
  if (parents.includes(value)) return '[circular]';
  if (parents.length >= MAXIMUM_DEPTH) return '[…]';
  const path = [...parents, value];
  if (Array.isArray(value)) return value.map((item) => redactValue(item, path));
  if (isNativeError(value) || value instanceof Error) return redactError(value, path);
  if (value instanceof Map) return redactFields([...value], path);
  if (value instanceof Set) return [...value].map((item) => redactValue(item, path));
  return redactFields(Object.entries(value), path);
}

function redactFields(
  entries: readonly (readonly [unknown, unknown])[],
  path: readonly object[],
): Record<string, unknown> {
  return Object.fromEntries(
    entries.map(([key, value]) => {
      const name = String(key);
      if (value === undefined || value === null) return [name, value];
      if (SECRET_FIELD.test(name)) return [name, HIDDEN];
      if (/headers$/i.test(name)) return [name, redactHeaders(value)];
      return [name, redactValue(value, path)];
    }),
  );
}

/** Header names help, their values may be anything: only the names stay. */
function redactHeaders(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return HIDDEN;
  return Object.fromEntries(Object.keys(value).map((name) => [name, HIDDEN]));
}

function redactError(error: Error, path: readonly object[]): Record<string, unknown> {
  return {
    name: error.name,
    message: redactText(error.message),
    ...redactFields(
      Object.entries(error).filter(([name]) => !['name', 'message', 'stack', 'cause'].includes(name)),
      path,
    ),
    ...(error.stack === undefined ? {} : { stack: redactText(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: redactValue(error.cause, path) }),
  };
}

function toText(value: Date | URL): string {
  if (value instanceof URL) return value.href;
  return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
}
