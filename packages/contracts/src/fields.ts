import { z } from 'zod';
import { LIMITS } from './limits.ts';
import { parseUrl } from './parse-url.ts';

type ComponentOf<Shape extends z.ZodRawShape> = z.ZodObject<z.core.util.Writeable<Shape>, z.core.$strict>;

/** A strict object with its own name in the OpenAPI document. */
export function component<Shape extends z.ZodRawShape>(id: string, shape: Shape): ComponentOf<Shape>;
export function component<Shape extends z.ZodRawShape>(
  id: string,
  description: string,
  shape: Shape,
): ComponentOf<Shape>;
export function component(id: string, ...rest: [z.ZodRawShape] | [string, z.ZodRawShape]): z.ZodObject {
  const [shape, description] = rest.length === 1 ? rest : [rest[1], rest[0]];
  return z.strictObject(shape).meta({ id, ...(description !== undefined && { description }) });
}

/** Replaces secret values that the caller may not read. */
export const HIDDEN_SECRET = '(secret)';
export const HIDDEN_ERROR = `must be the actual value: "${HIDDEN_SECRET}" stands for one that is hidden from API keys without the scope write`;

const ISO_8601 = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(?::(\d{2})(?:[.,](\d+))?)?(Z|[+-]\d{2}(?::?\d{2})?)$/i;

/**
 * Range of the API's timestamps in epoch milliseconds. Includes the years 1 to 9999 in UTC, which ISO 8601 writes with four digits. Values
 * calculated from timestamps may be outside the range.
 */
export const TIMESTAMP_RANGE = {
  earliest: Date.parse('0001-01-01T00:00:00Z'),
  latest: Date.parse('9999-12-31T23:59:59.999Z'),
} as const;

/**
 * Parses an ISO 8601 timestamp with an offset. Returns null if it is invalid or outside `TIMESTAMP_RANGE`. Truncates to milliseconds, so that a cursor never moves past an event.
 */
export function parseTimestamp(text: string): Date | null {
  const match = ISO_8601.exec(text);
  if (match === null) return null;
  const [, day = '', minute = '', second = '00', fraction = '', offset = ''] = match;
  const local = `${day}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}`;
  const shift = offsetMinutes(offset);
  const wallClock = Date.parse(`${local}Z`);
  if (shift === null || Number.isNaN(wallClock)) return null;
  // V8 parses 30 February as a day in March, so the date must format to the same text.
  if (new Date(wallClock).toISOString() !== `${local}Z`) return null;
  const instant = wallClock - shift * 60_000;
  const { earliest, latest } = TIMESTAMP_RANGE;
  return instant < earliest || instant > latest ? null : new Date(instant);
}

/** Like `parseTimestamp`, but returns UTC text with microseconds. */
export function parseMicroseconds(text: string): string | null {
  const date = parseTimestamp(text);
  const fraction = ISO_8601.exec(text)?.[4] ?? '';
  return date && date.toISOString().replace('Z', `${fraction.slice(3, 6).padEnd(3, '0')}Z`);
}

function offsetMinutes(offset: string): number | null {
  if (offset.toUpperCase() === 'Z') return 0;
  const digits = offset.replaceAll(/\D/g, '').padEnd(4, '0');
  const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2))];
  if (hours > 23 || minutes > 59) return null;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** Text without NUL or lone surrogates, which PostgreSQL and JSON can both store. */
export const storableText = z
  .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') })
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character', abort: true })
  .refine((text) => text.isWellFormed(), {
    error: 'must not contain a lone surrogate (invalid Unicode)',
    abort: true,
  });

/** Text of 1 to `max` characters, not only white space, kept exactly as written. */
export function label(max: number): z.ZodString {
  return storableText
    .regex(/^[^\0]*\S[^\0]*$/, { error: `must not be blank (1 to ${max} characters)`, abort: true })
    .max(max, { error: `must be at most ${max} characters` });
}

const MAX_KEY = LIMITS.externalIdCharacters;
const PATH_STEPS = ['.', '..'];

/** A key that a client chooses, such as an `externalId`. It must be usable as a part of a path, where clients resolve `.` and `..`. */
export const clientKey: z.ZodString = storableText
  .regex(/^[^\0\s]([^\0]*[^\0\s])?$/, { error: ({ input }) => keyProblem(String(input)), abort: true })
  .refine((key) => !PATH_STEPS.includes(key), { error: 'must not be `.` or `..`' })
  .max(MAX_KEY, { error: `must be at most ${MAX_KEY} characters` })
  .meta({ not: { enum: PATH_STEPS } });

function keyProblem(key: string): string {
  return key.trim() === ''
    ? `must not be blank (1 to ${MAX_KEY} characters)`
    : 'must not begin or end with white space';
}

/** Fields that identify a resource for programs, without defaults. @param scope of the externalId */
export function identifiers(
  scope: string,
): Readonly<Record<'externalId' | 'source', z.ZodNullable<z.ZodString>>> {
  return {
    externalId: clientKey.nullable().describe(`Your own stable key, unique ${scope}.`),
    source: clientKey
      .nullable()
      .describe('The owner that declares it, such as a repository, or null if there is none.'),
  };
}

/** An integer from `min` to `max`. Rejects numbers in strings. */
export function boundedInteger(min: number, max: number, unit = ''): z.ZodType<number, number> {
  const error = `must be an integer from ${min} to ${max}${unit && ` (${unit})`}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** One of a fixed list of words. */
export function oneOf<const Word extends string>(words: readonly Word[]): z.ZodType<Word> {
  return z.enum(words, { error: `must be one of ${words.join(', ')}` });
}

interface UrlRules {
  readonly schemes: readonly ('http' | 'https')[];
  /** End of the error message about credentials in the URL. */
  readonly credentials: string;
}

/** Returns the error of a URL from a user, or null if it is valid. */
function urlProblem(text: string, { schemes, credentials }: UrlRules): string | null {
  if (text.trim() === '') return 'must not be blank: give a full URL such as https://example.com/health';
  if (text.length > LIMITS.urlCharacters) return `must be at most ${LIMITS.urlCharacters} characters`;
  if (/[\s\p{Cc}]/u.test(text))
    return 'must not contain white space or control characters: percent-encode them';
  if (!schemes.includes('http') && /^http:\/\//i.test(text)) return 'must be https: plain HTTP is refused';
  if (!/^https?:\/\//i.test(text) || parseUrl(text) === null) {
    return `must be a full URL with scheme ${schemes.join(' or ')}, such as https://example.com/health`;
  }
  // Also matches an empty user name, which `URL` drops.
  if (/^https?:[/\\]*[^/\\?#]*@/i.test(text)) {
    return `must not contain a user name or password: ${credentials}`;
  }
  return null;
}

function absoluteUrl(rules: UrlRules): z.ZodType<string, string> {
  return storableText
    .superRefine((text, context) => {
      const message = urlProblem(text, rules);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .meta({ format: 'iri', minLength: 1, maxLength: LIMITS.urlCharacters });
}

/** An absolute http or https URL, kept exactly as written. */
export const httpUrl: z.ZodType<string, string> = absoluteUrl({
  schemes: ['http', 'https'],
  credentials: 'send credentials in `headers`',
});

/** An absolute https URL of a webhook receiver, kept exactly as written. */
export const httpsUrl: z.ZodType<string, string> = absoluteUrl({
  schemes: ['https'],
  credentials: 'verify the signature of each webhook instead',
});

/** A returned timestamp in UTC with milliseconds. */
export const timestamp: z.ZodISODateTime = z.iso.datetime({ precision: 3 });

/** An accepted timestamp with an offset, with millisecond precision. @param rule error message */
export function instant(
  rule: string = 'must be an ISO 8601 timestamp with an offset, such as 2026-01-31T12:00:00.000Z',
): z.ZodType<Date, string> {
  return z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') })
    .transform((text, context) => {
      const date = parseTimestamp(text);
      if (date !== null) return date;
      context.addIssue({ code: 'custom', message: rule });
      return z.NEVER;
    })
    .meta({ format: 'date-time' });
}

export const futureInstant: z.ZodType<Date, string> = instant().refine(
  (date) => date.getTime() > Date.now(),
  { error: 'must be in the future' },
);

export const flag: z.ZodBoolean = z.boolean({ error: 'must be true or false' });

/** An id in lower case. @param noun of the resource with its article */
export function idOf(noun: string): z.ZodType<string, string> {
  return z.uuid({ error: `must be the id of ${noun}` }).transform((id) => id.toLowerCase());
}

export const monitorIdList: z.ZodArray<z.ZodType<string, string>> = z.array(idOf('a monitor'), {
  error: ({ input }) => (input === undefined ? 'is required' : 'must be an array of monitor ids'),
});

/** Up to `max` different monitors. */
export function monitorIdSet(max: number): z.ZodArray<z.ZodType<string, string>> {
  return monitorIdList
    .max(max, { error: `must contain at most ${max} monitors` })
    .refine((ids) => new Set(ids).size === ids.length, { error: 'must not contain a monitor twice' })
    .meta({ uniqueItems: true });
}

/** Page size, capped at the maximum. */
export const pageLimit = z
  .string({ error: 'must be given only once' })
  .regex(/^\d{1,15}$/, { error: 'must be an integer of at least 1' })
  .transform(Number)
  .refine((count) => count >= 1, { error: 'must be an integer of at least 1' })
  .transform((count) => Math.min(count, LIMITS.eventsPerRequest.max))
  .default(LIMITS.eventsPerRequest.default)
  .meta({
    type: 'integer',
    pattern: undefined,
    minimum: 1,
    default: LIMITS.eventsPerRequest.default,
    description: `The maximum number of entries. More than ${LIMITS.eventsPerRequest.max} counts as ${LIMITS.eventsPerRequest.max}.`,
  });

/** Cursor of a page, which is the ID of the last entry on the previous page. */
export const pageBefore = z
  .uuid({ error: 'must be the id of the last entry that you have' })
  .optional()
  .describe('For the next page: the id of the last entry that you have.');

/** Query parameter of a list that filters by `source`. */
export const sourceFilter = z
  .string({ error: 'must be given only once' })
  .pipe(storableText)
  .optional()
  .describe('Only resources of this source.');

/** The `ETag` of a record in a list. */
export const etag: z.ZodString = z.string().describe('The `ETag` of the record, for `If-Match`.');
