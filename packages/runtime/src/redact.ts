import { isNativeError } from 'node:util/types';
import { API_KEY_PREFIX, API_KEYS_IN_TEXT } from '@tocsin/contracts/limits';

const HIDDEN = '[redacted]';
const MAX_DEPTH = 8;
/** Shorter secrets would match parts of ordinary text. */
const MIN_SECRET_LENGTH = 6;

/** Fields whose whole value is a secret. */
const SECRET_FIELD =
  /^(key|keys|body|token|cookies?|set-cookie|.*(authorization|secret|secrets|password|api-?_?key))$/i;

/**
 * Fields of errors with data that must not be logged: SQL parameters, arguments of Redis commands, rows that Postgres refused, and the
 * connection with the key that cancels its queries.
 */
const DATA_FIELD = /^(params|args|detail|where|input|client|options)$/;

/** API keys, webhook secrets and passwords in URLs. */
const SECRET_TEXT: readonly (readonly [RegExp, string])[] = [
  [API_KEYS_IN_TEXT, `${API_KEY_PREFIX}${HIDDEN}`],
  [/whsec_[A-Za-z0-9+/=_-]+/g, `whsec_${HIDDEN}`],
  [/([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*):[^\s/@]+@/gi, `$1:${HIDDEN}@`],
];

/** Secret values that are hidden in any text, as they are and percent-encoded. */
export class KnownSecrets {
  readonly #pattern: RegExp | null;

  constructor(values: readonly string[]) {
    const patterns = values
      .flatMap((value) =>
        value.length < MIN_SECRET_LENGTH ? [] : [value, encodeURIComponent(value.toWellFormed())],
      )
      .toSorted((one, other) => other.length - one.length)
      .map((value) => value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    this.#pattern = patterns.length === 0 ? null : new RegExp([...new Set(patterns)].join('|'), 'g');
  }

  hide(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, HIDDEN);
  }
}

/**
 * A copy that is safe to log and to turn into JSON: without secrets, with errors as plain objects, and cut at cycles and great depths.
 */
export function redact(value: unknown, secrets: KnownSecrets = new KnownSecrets([])): unknown {
  return new Redaction(secrets).value(value, []);
}

type Entries = readonly (readonly [unknown, unknown])[];

class Redaction {
  readonly #secrets: KnownSecrets;

  constructor(secrets: KnownSecrets) {
    this.#secrets = secrets;
  }

  value(value: unknown, parents: readonly object[]): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'bigint') return value.toString();
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof URL) return this.#text(value.href);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (Buffer.isBuffer(value)) return `[${value.length} bytes]`;
    if (parents.includes(value)) return '[circular]';
    if (parents.length >= MAX_DEPTH) return '[…]';
    const path = [...parents, value];
    if (Array.isArray(value) || value instanceof Set) return [...value].map((item) => this.value(item, path));
    if (isNativeError(value) || value instanceof Error) return this.#error(value, path);
    return this.#fields(value instanceof Map ? [...value] : Object.entries(value), path);
  }

  #text(text: string): string {
    return SECRET_TEXT.reduce(
      (result, [pattern, replacement]) => result.replace(pattern, replacement),
      this.#secrets.hide(text),
    );
  }

  #fields(entries: Entries, path: readonly object[]): Record<string, unknown> {
    return Object.fromEntries(
      entries.map(([key, value]) => {
        const name = String(key);
        if (value === undefined || value === null) return [name, value];
        if (SECRET_FIELD.test(name)) return [name, HIDDEN];
        if (/headers$/i.test(name)) return [name, hideValues(value)];
        return [name, this.value(value, path)];
      }),
    );
  }

  #error(error: Error, path: readonly object[]): Record<string, unknown> {
    // Drizzle appends the parameters to the message of a failed query.
    const message = error.message.startsWith('Failed query: ')
      ? error.message.replace(/\nparams: .*$/s, '')
      : error.message;
    const stack = error.stack?.replace(error.message, () => message);
    const fields = Object.entries(error)
      .filter(([name]) => !['name', 'message', 'stack', 'cause'].includes(name))
      .map(([name, value]) => [name, withoutData(name, value)] as const);
    return {
      name: error.name,
      message: this.#text(message),
      ...this.#fields(fields, path),
      ...(stack !== undefined && { stack: this.#text(stack) }),
      ...(error.cause !== undefined && { cause: this.value(error.cause, path) }),
    };
  }
}

/** The names of headers help to find a problem. Any value may be secret. */
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
