import type { z } from 'zod';
import { LIMITS } from './limits.ts';
import { parseUrl } from './parse-url.ts';
import { storableText } from './text.ts';

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
