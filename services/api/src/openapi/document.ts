import { readFileSync } from 'node:fs';
import { ERRORS, problemSchema, problemType } from '@tocsin/contracts/errors';
import type { ErrorCode } from '@tocsin/contracts/errors';
import { SIGN_IN_OPERATIONS, SINGLE_SIGN_ON_OPERATIONS } from '@tocsin/contracts/identity/routes';
import { LIMITS } from '@tocsin/contracts/limits';
import type { Operation, Operations } from '@tocsin/contracts/routes/route';
import { OPERATIONS, TAGS } from '@tocsin/contracts/routes/routes';
import { writeForeignOperation, writeOperation } from './operation.ts';
import type { Shared } from './operation.ts';
import { ErrorAnswers, HEADERS, headersWith } from './responses.ts';
import { SchemaBook } from './schemas.ts';
import type { JsonObject } from './schemas.ts';
import { writeWebhooks } from './webhooks.ts';

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
function info(version: string): JsonObject {
  return {
    title: 'Tocsin',
    summary: 'Uptime monitoring for platform teams.',
    version,
    description,
    license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
  };
}

const SECURITY_SCHEMES: JsonObject = {
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

/** An OpenAPI 3.1 document; what is in it is JSON. */
export interface OpenApiDocument extends JsonObject {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, JsonObject>>;
}

/**
 * The whole API as OpenAPI 3.1 has it, made of the contracts.
 * @param publicUrl the address people see, without a slash at its end
 */
export function buildDocument(publicUrl: string): OpenApiDocument {
  const shared: Shared = { schemas: new SchemaBook(), errors: new ErrorAnswers() };
  const { schemas, errors } = shared;
  const paths = {
    ...writePaths(OPERATIONS, (route, operation) => writeOperation(route, operation, shared)),
    ...writePaths({ ...SIGN_IN_OPERATIONS, ...SINGLE_SIGN_ON_OPERATIONS }, (route, operation) =>
      writeForeignOperation(route, operation, shared),
    ),
  };
  const webhooks = writeWebhooks(schemas);
  schemas.write(problemSchema, 'output');
  return {
    openapi: '3.1.1',
    info: info(readVersion()),
    servers: [{ url: publicUrl }],
    tags: [...Object.entries(TAGS).map(([name, description]) => ({ name, description })), WEBHOOKS_TAG],
    paths,
    webhooks,
    components: {
      schemas: schemas.named,
      responses: { ...errors.named, SignInRefused: SIGN_IN_REFUSED },
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const WEBHOOKS_TAG = {
  name: 'Webhooks',
  description: 'What receivers get. Each is a `POST` to the address of a channel.',
};

const SIGN_IN_REFUSED: JsonObject = {
  description: 'It was refused, by better-auth or by what stands before it.',
  headers: headersWith(),
  content: {
    'application/json': {
      schema: {
        type: 'object',
        properties: { code: { type: 'string' }, message: { type: 'string' } },
      },
    },
    'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
  },
};

function writePaths(
  operations: Operations,
  write: (route: string, operation: Operation) => JsonObject,
): Record<string, JsonObject> {
  const paths: Record<string, JsonObject> = {};
  for (const [route, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = route.split(' ');
    const template = path.replaceAll(/:(\w+)/g, '{$1}');
    paths[template] = { ...paths[template], [method.toLowerCase()]: write(route, operation) };
  }
  return paths;
}

/** Of this package, wherever it was built to. */
function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
