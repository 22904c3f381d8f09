import { z } from 'zod';
import { HIDDEN_ERROR, HIDDEN_SECRET } from '../fields.ts';
import { LIMITS } from '../limits.ts';

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const INVALID_FIELD_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** Headers of the connection or message framing, which a monitor must not set. */
const FORBIDDEN = new Set([
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const NAME_RULE = 'is not a valid header name: use letters, digits and hyphens';

export const headerName = z
  .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') })
  .regex(FIELD_NAME, { error: NAME_RULE })
  .max(LIMITS.headerNameCharacters, { error: NAME_RULE });

/** Returns the error of a custom header, or null if it is valid. */
function headerProblem(name: string, value: unknown): string | null {
  if (!headerName.safeParse(name).success || name === '__proto__') return NAME_RULE;
  if (FORBIDDEN.has(name.toLowerCase()))
    return 'is set by the connection itself and cannot be a custom header';
  if (typeof value !== 'string') return 'must be a string';
  if (INVALID_FIELD_VALUE.test(value)) return 'must contain visible Latin-1 characters, spaces and tabs only';
  if (value.length > LIMITS.headerValueCharacters) {
    return `must be at most ${LIMITS.headerValueCharacters} characters`;
  }
  return null;
}

/** Custom request headers by RFC 9110, without hop-by-hop and framing headers. */
export const requestHeaders = z
  .custom<Record<string, string>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    {
      error: 'must be an object of header names and string values',
      abort: true,
    },
  )
  .superRefine((headers, context) => {
    const names = Object.keys(headers);
    if (names.length > LIMITS.headerCount) {
      context.addIssue({ code: 'custom', message: `must contain at most ${LIMITS.headerCount} headers` });
    }
    const seen = new Set<string>();
    for (const name of names) {
      const repeated = seen.has(name.toLowerCase()) ? 'is given twice (header names ignore case)' : null;
      seen.add(name.toLowerCase());
      const message = headerProblem(name, headers[name]) ?? repeated;
      if (message !== null) context.addIssue({ code: 'custom', path: [name], message });
    }
  })
  .meta({
    type: 'object',
    propertyNames: { pattern: FIELD_NAME.source, maxLength: LIMITS.headerNameCharacters },
    additionalProperties: { type: 'string', maxLength: LIMITS.headerValueCharacters },
    maxProperties: LIMITS.headerCount,
  });

/** Rejects the placeholder for hidden values, which would replace the actual value. */
export const actualHeaders = requestHeaders.nullable().superRefine((headers, context) => {
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value === HIDDEN_SECRET) context.addIssue({ code: 'custom', path: [name], message: HIDDEN_ERROR });
  }
});
