import { isNativeError } from 'node:util/types';

const HIDDEN = '[redacted]';
const MAX_DEPTH = 8;
/** Shorter secrets would match ordinary text. */
const MIN_SECRET_LENGTH = 6;

const SECRET_FIELD =
  /^(key|keys|body|token|cookies?|set-cookie|.*(authorization|secret|secrets|password|api-?_?key))$/i;

/** Error fields with SQL parameters, Redis arguments, refused rows, or the connection with its cancel key. */
const DATA_FIELD = /^(params|args|detail|where|input|client|options)$/;

/** API keys, agent tokens, webhook secrets, and passwords in URLs. */
const SECRET_TEXT: readonly (readonly [RegExp, string])[] = [
  [/tocsin_(live|agent)_[0-9a-f]{48}/gi, `tocsin_$1_${HIDDEN}`],
  [/whsec_[A-Za-z0-9+/=_-]+/g, `whsec_${HIDDEN}`],
  [/([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*):[^\s/@]+@/gi, `$1:${HIDDEN}@`],
];

export type HideSecrets = (text: string) => string;

/** Hides these values in any text, in plain and percent-encoded form. */
export function hideSecrets(values: readonly string[]): HideSecrets {
  const patterns = values
    .flatMap((value) =>
      value.length < MIN_SECRET_LENGTH ? [] : [value, encodeURIComponent(value.toWellFormed())],
    )
    .toSorted((one, other) => other.length - one.length)
    .map((value) => value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (patterns.length === 0) return (text) => text;
  const pattern = new RegExp(patterns.join('|'), 'g');
  return (text) => text.replace(pattern, HIDDEN);
}

/** Copies a value without secrets for the log. Errors become plain objects, and cycles and depths over 8 are cut. */
export function redact(value: unknown, hide: HideSecrets, parents: readonly object[] = []): unknown {
  if (typeof value === 'string') return redactText(value, hide);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof URL) return redactText(value.href, hide);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (Buffer.isBuffer(value)) return `[${value.length} bytes]`;
  if (parents.includes(value)) return '[circular]';
  if (parents.length >= MAX_DEPTH) return '[…]';
  const path = [...parents, value];
  if (Array.isArray(value) || value instanceof Set) return [...value].map((item) => redact(item, hide, path));
  if (isNativeError(value) || value instanceof Error) return redactError(value, hide, path);
  return redactFields(value instanceof Map ? [...value] : Object.entries(value), hide, path);
}

function redactText(text: string, hide: HideSecrets): string {
  return SECRET_TEXT.reduce(
    (result, [pattern, replacement]) => result.replace(pattern, replacement),
    hide(text),
  );
}

function redactFields(
  entries: readonly (readonly [unknown, unknown])[],
  hide: HideSecrets,
  path: readonly object[],
): Record<string, unknown> {
  return Object.fromEntries(
    entries.map(([key, value]) => {
      const name = String(key);
      if (value === undefined || value === null) return [name, value];
      if (SECRET_FIELD.test(name)) return [name, HIDDEN];
      if (/headers$/i.test(name)) return [name, hideValues(value)];
      return [name, redact(value, hide, path)];
    }),
  );
}

function redactError(error: Error, hide: HideSecrets, path: readonly object[]): Record<string, unknown> {
  // Drizzle appends the parameters to the message of a failed query.
  const message = error.message.replace(/^(Failed query: .*?)\nparams: .*$/s, '$1');
  const stack = error.stack?.replace(error.message, () => message);
  const fields = Object.entries(error)
    .filter(([name]) => !['name', 'message', 'stack', 'cause'].includes(name))
    .map(([name, value]) => [name, withoutData(name, value)] as const);
  return {
    name: error.name,
    message: redactText(message, hide),
    ...redactFields(fields, hide, path),
    ...(stack !== undefined && { stack: redactText(stack, hide) }),
    ...(error.cause !== undefined && { cause: redact(error.cause, hide, path) }),
  };
}

/** Keeps header names, which help to find a problem. */
function hideValues(headers: unknown): unknown {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return HIDDEN;
  return Object.fromEntries(Object.keys(headers).map((name) => [name, HIDDEN]));
}

/** ioredis adds the command to its errors, pg the refused row. */
function withoutData(name: string, value: unknown): unknown {
  if (value === undefined || value === null) return value;
  if (DATA_FIELD.test(name)) return HIDDEN;
  if (name !== 'command') return value;
  return typeof value === 'object' && 'name' in value ? { name: value.name } : HIDDEN;
}
