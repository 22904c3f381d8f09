import { LIMITS } from '@tocsin/contracts/limits';
import { ERRORS, problemType } from '@tocsin/contracts/errors';
import type { ErrorCode } from '@tocsin/contracts/errors';
import type { JsonObject } from './schema-book.ts';

const errorRows = Object.keys(ERRORS).map((code) => {
  const { status, title } = ERRORS[code as ErrorCode];
  return `| ${status} | \`${problemType(code as ErrorCode)}\` | ${title} |`;
});

/** What holds for every request. */
const description = `Tocsin checks URLs on a schedule from one or more regions, records every result, and turns changes of status into webhooks.

**Programs** use what is under \`/api/cli\`, with an API key: \`Authorization: Bearer <API key>\`. Creating, updating and deleting need a key with
the scope \`write\`. **People** use what is under \`/api/dashboard\`, with the cookie of a session; a request with one that changes something also
needs an \`Origin\` of the dashboard. What belongs to another account is not there: 404.

Bodies are JSON in UTF-8, of at most ${LIMITS.apiBodyBytes} bytes where nothing else is said. A field that is not known is refused. All faults are told at once. Timestamps are told in UTC with
milliseconds, and taken with any offset. Whatever answers \`GET\` answers \`HEAD\`, too. A path that is there takes no other methods than these: 405, and \`Allow\` says
which. Requests may be limited for each key and session: 429, and \`Retry-After\` says when to go on.

## Errors

Every error is \`application/problem+json\` (RFC 9457), but for those of signing in.

| status | type | meaning |
| ------ | ---- | ------- |
${errorRows.join('\n')}
`;

/** @param version of Tocsin */
export function info(version: string): JsonObject {
  return {
    title: 'Tocsin',
    summary: 'Uptime monitoring for platform teams.',
    version,
    description,
    license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
  };
}

export const SECURITY_SCHEMES: JsonObject = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'tocsin_live_ and 48 hexadecimal characters',
    description: 'An API key, made in the dashboard. `write`: it has this scope; reading needs none.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'tocsin.session_token',
    description:
      'The session of a person, begun by signing in; over https its name begins with `__Secure-`. `owner`: the person is an owner of the account.',
  },
};
