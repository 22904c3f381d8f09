import { z } from 'zod';
import { LIMITS } from './limits.ts';
import { parseUrl } from './parse-url.ts';

const ISO_8601 = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(?::(\d{2})(?:[.,](\d+))?)?(Z|[+-]\d{2}(?::?\d{2})?)$/i;

const EARLIEST = Date.parse('0001-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Reads an ISO 8601 timestamp with any offset. Digits beyond milliseconds are truncated, so a cursor never moves
 * past an event. Null where the text is no such timestamp, names a day or time that does not exist, or lies in UTC outside
 * the years 1 to 9999, which not all that reads timestamps can write.
 */
export function parseTimestamp(text: string): Date | null {
  const match = ISO_8601.exec(text);
  if (match === null) return null;
  const [, day = '', minute = '', second = '00', fraction = '', offset = ''] = match;
  const local = `${day}T${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}`;
  const shift = offsetMinutes(offset);
  const wallClock = Date.parse(`${local}Z`);
  if (shift === null || Number.isNaN(wallClock)) return null;
  // V8 rolls 30 February over into March: only a day that reads back as written exists.
  if (new Date(wallClock).toISOString() !== `${local}Z`) return null;
  const instant = wallClock - shift * 60_000;
  return instant < EARLIEST || instant > LATEST ? null : new Date(instant);
}

function offsetMinutes(offset: string): number | null {
  if (offset.toUpperCase() === 'Z') return 0;
  const digits = offset.replaceAll(/\D/g, '').padEnd(4, '0');
  const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2))];
  if (hours > 23 || minutes > 59) return null;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

/** Text that Postgres and JSON can both hold: no NUL, no lone surrogate (design §3). */
export const storableText = z
  .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') })
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character', abort: true })
  .refine((text) => text.isWellFormed(), {
    error: 'must not contain a lone surrogate (invalid Unicode)',
    abort: true,
  });

/** Trimmed text of 1 to `max` characters. */
export function label(max: number): z.ZodType<string, string> {
  return storableText
    .overwrite((text) => text.trim())
    .min(1, { error: `must not be blank (1 to ${max} characters)` })
    .max(max, { error: `must be at most ${max} characters` });
}

/** An integer from `min` to `max`; numbers in strings are refused. */
export function boundedInteger(min: number, max: number, unit = ''): z.ZodType<number, number> {
  const error = `must be an integer from ${min} to ${max}${unit && ` (${unit})`}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** One of a fixed list of words. */
export function oneOf<const Word extends string>(words: readonly Word[]): z.ZodType<Word> {
  return z.enum(words, { error: `must be one of ${words.join(', ')}` });
}

/** What an absolute URL that a user gave must be, besides well-formed. */
interface UrlRules {
  readonly schemes: readonly ('http' | 'https')[];
  /** Ends the message about a user name or password in the URL. */
  readonly credentials: string;
}

/** What is wrong with a URL that a user gave, or null where nothing is (design §3 "Validation"). */
function urlProblem(text: string, { schemes, credentials }: UrlRules): string | null {
  if (text.trim() === '') return 'must not be blank: give a full URL such as https://example.com/health';
  if (text.length > LIMITS.urlCharacters) return `must be at most ${LIMITS.urlCharacters} characters`;
  if (/[\s\p{Cc}]/u.test(text))
    return 'must not contain white space or control characters: percent-encode them';
  if (!schemes.includes('http') && /^http:\/\//i.test(text)) return 'must be https: plain HTTP is refused';
  if (!/^https?:\/\//i.test(text) || parseUrl(text) === null) {
    return `must be a full URL with scheme ${schemes.join(' or ')}, such as https://example.com/health`;
  }
  // An empty user name is one too, and gone from what `URL` reads.
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
    .meta({ format: 'uri', minLength: 1, maxLength: LIMITS.urlCharacters });
}

/** An absolute http or https URL, kept exactly as written. */
export const httpUrl: z.ZodType<string, string> = absoluteUrl({
  schemes: ['http', 'https'],
  credentials: 'send credentials in `headers`',
});

/** An absolute https URL, kept exactly as written: the address of a webhook receiver. */
export const httpsUrl: z.ZodType<string, string> = absoluteUrl({
  schemes: ['https'],
  credentials: 'verify the signature of each webhook instead',
});
