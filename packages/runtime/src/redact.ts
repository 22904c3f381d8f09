import { isNativeError } from 'node:util/types';

const HIDDEN = '[redacted]';
const MAXIMUM_DEPTH = 8;

/** Fields whose whole value is a secret, whatever it looks like. */
const SECRET_FIELD =
  /^(key|keys|body|token|cookies?|set-cookie|.*(authorization|secret|secrets|password|api-?_?key))$/i;

/**
 * Fields of errors that repeat what was sent, or what sent it: parameters of SQL, arguments of Redis commands, rows that
 * Postgres refused, the connection with the key that cancels its queries.
 */
const REPEATED_FIELD = /^(params|args|detail|where|input|client|options)$/;

/** Shorter ones would be found in any text. */
const LEAST_KNOWN_CHARACTERS = 6;

/** Secrets that show themselves: API keys, webhook secrets, and the password in a URL. */
const SECRET_TEXT: readonly (readonly [RegExp, string])[] = [
  [/tocsin_live_[0-9a-f]{48}/gi, `tocsin_live_${HIDDEN}`],
  [/whsec_[A-Za-z0-9+/=_-]+/g, `whsec_${HIDDEN}`],
  [/([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*):[^\s/@]+@/gi, `$1:${HIDDEN}@`],
];

/** Values that are secret wherever they turn up, as they are and percent-encoded. */
export class KnownSecrets {
  readonly #pattern: RegExp | null;

  constructor(values: readonly string[]) {
    const forms = values
      .flatMap((value) =>
        value.length < LEAST_KNOWN_CHARACTERS ? [] : [value, encodeURIComponent(value.toWellFormed())],
      )
      .toSorted((one, other) => other.length - one.length)
      .map((value) => value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    this.#pattern = forms.length === 0 ? null : new RegExp([...new Set(forms)].join('|'), 'g');
  }

  hide(text: string): string {
    return this.#pattern === null ? text : text.replace(this.#pattern, HIDDEN);
  }
}

/**
 * A copy that is safe to log and to turn into JSON: secrets hidden, errors as plain objects with stack and cause,
 * cycles and great depths cut.
 */
export function redact(value: unknown, known: KnownSecrets = NONE): unknown {
  return redactValue(value, { parents: [], known });
}

const NONE = new KnownSecrets([]);

interface Place {
  readonly parents: readonly object[];
  readonly known: KnownSecrets;
}

/** The text without known secrets, API keys, webhook secrets and passwords in URLs. */
function redactText(text: string, known: KnownSecrets): string {
  return SECRET_TEXT.reduce(
    (result, [pattern, replacement]) => result.replace(pattern, replacement),
    known.hide(text),
  );
}

function redactValue(value: unknown, place: Place): unknown {
  if (typeof value === 'string') return redactText(value, place.known);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date || value instanceof URL) return redactText(toText(value), place.known);
  if (Buffer.isBuffer(value)) return `[${value.length} bytes]`;
  if (place.parents.includes(value)) return '[circular]';
  if (place.parents.length >= MAXIMUM_DEPTH) return '[…]';
  const inside = { ...place, parents: [...place.parents, value] };
  if (Array.isArray(value)) return value.map((item) => redactValue(item, inside));
  if (isNativeError(value) || value instanceof Error) return redactError(value, inside);
  if (value instanceof Map) return redactFields([...value], inside);
  if (value instanceof Set) return [...value].map((item) => redactValue(item, inside));
  return redactFields(Object.entries(value), inside);
}

function redactFields(
  entries: readonly (readonly [unknown, unknown])[],
  place: Place,
): Record<string, unknown> {
  return Object.fromEntries(
    entries.map(([key, value]) => {
      const name = String(key);
      if (value === undefined || value === null) return [name, value];
      if (SECRET_FIELD.test(name)) return [name, HIDDEN];
      if (/headers$/i.test(name)) return [name, redactHeaders(value)];
      return [name, redactValue(value, place)];
    }),
  );
}

/** Header names help, their values may be anything: only the names stay. */
function redactHeaders(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return HIDDEN;
  return Object.fromEntries(Object.keys(value).map((name) => [name, HIDDEN]));
}

function redactError(error: Error, place: Place): Record<string, unknown> {
  const message = withoutParameters(error.message);
  const fields = Object.entries(error).filter(
    ([name]) => !['name', 'message', 'stack', 'cause'].includes(name),
  );
  const stack = error.stack?.replace(error.message, () => message);
  return {
    name: error.name,
    message: redactText(message, place.known),
    ...redactFields(
      fields.map(([name, value]) => [name, withoutRepeated(name, value)] as const),
      place,
    ),
    ...(stack === undefined ? {} : { stack: redactText(stack, place.known) }),
    ...(error.cause === undefined ? {} : { cause: redactValue(error.cause, place) }),
  };
}

/** Drizzle ends the message of a failed query with everything that was to be written. */
function withoutParameters(message: string): string {
  return message.startsWith('Failed query: ') ? message.replace(/\nparams: .*$/s, '') : message;
}

/** ioredis hangs the command on its errors, pg the row that was refused. */
function withoutRepeated(name: string, value: unknown): unknown {
  if (value === undefined || value === null) return value;
  if (REPEATED_FIELD.test(name)) return HIDDEN;
  if (name !== 'command') return value;
  return typeof value === 'object' && 'name' in value ? { name: value.name } : HIDDEN;
}

function toText(value: Date | URL): string {
  if (value instanceof URL) return value.href;
  return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
}
