import { methodOf, pathOf, type Routes, TAGS } from '@tocsin/contracts/routes/route';
import { API_ROUTES, AUTH_ROUTES } from '@tocsin/contracts/routes/routes';
import { ACCOUNT_HEADER } from '@tocsin/contracts/identity/user-header';
import { type ErrorCode, ERRORS, problemSchema, problemType } from '@tocsin/contracts/errors';
import { API_KEY_PREFIX, LIMITS } from '@tocsin/contracts/limits';
import { writeAuthOperation, writeOperation } from './operation.ts';
import { VERSION } from '../version.ts';
import { HEADERS, headersWith } from './responses.ts';
import { type JsonObject, SchemaBook } from './schemas.ts';
import { writeWebhooks } from './webhooks.ts';

const errorRows = Object.keys(ERRORS).map((code) => {
  const { status, title } = ERRORS[code as ErrorCode];
  return `| ${status} | \`${problemType(code as ErrorCode)}\` | ${title} |`;
});

const description = `Tocsin checks URLs on a schedule from one or more regions, records every result, and turns status changes into webhooks.

**Programs** use \`/api/cli\` with an API key: \`Authorization: Bearer <API key>\`. Creating, updating and deleting require the scope \`write\`. **People** use \`/api/dashboard\` with a session cookie. A request with a cookie that changes something also needs the \`Origin\` of the dashboard. It may send the id of a user in \`X-Tocsin-User\`: if the session belongs to another user, the response is 401. A user with several accounts names one in \`${ACCOUNT_HEADER}\`. **Operators** use \`/api/operator\` with a session or the key in \`OPERATOR_API_KEY\`. Resources of another account return 404.

Bodies are JSON in UTF-8, at most ${LIMITS.apiBodyBytes} bytes unless stated otherwise. Unknown fields and unknown parameters are refused. Ignore unknown fields of responses, because later versions may add some. All invalid fields are reported at once. Timestamps are returned in UTC with milliseconds, in the audit log with microseconds, and accepted with any offset. Every \`GET\` route also responds to \`HEAD\`. An unsupported method returns 405 with \`Allow\`. Each key and session may have a rate limit: 429 with \`Retry-After\`.

## Errors

Every error is \`application/problem+json\` (RFC 9457), except errors of signing in.

| status | type | meaning |
| ------ | ---- | ------- |
${errorRows.join('\n')}
`;

function info(url: string): JsonObject {
  return {
    title: 'Tocsin',
    summary: 'Uptime monitoring for platform teams.',
    version: VERSION,
    description,
    contact: { name: 'Operator of this installation', url },
    license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
  };
}

const SECURITY_SCHEMES: JsonObject = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: `${API_KEY_PREFIX} and 48 hexadecimal characters`,
    description: 'An API key, created in the dashboard. Every key may read.',
  },
  operatorKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'The key in the setting `OPERATOR_API_KEY`.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'tocsin.session_token',
    description: 'The session of a signed-in user. Over https its name begins with `__Secure-`.',
  },
};

export interface OpenApiDocument extends JsonObject {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, JsonObject>>;
}

/** Derives the OpenAPI 3.1 document of the whole API from the contracts. @param publicUrl without a trailing slash */
export function buildDocument(publicUrl: string): OpenApiDocument {
  const schemas = new SchemaBook();
  const responses: Record<string, JsonObject> = { SignInRefused: SIGN_IN_REFUSED };
  const paths: Record<string, JsonObject> = {};
  const add = (routes: Routes, write: typeof writeOperation): void => {
    for (const [id, route] of Object.entries(routes)) {
      const template = pathOf(route).replaceAll(/:(\w+)/g, '{$1}');
      const methods = [methodOf(route), ...(route.alias === undefined ? [] : [route.alias])];
      const operations = methods.map((method, index) => {
        const operation = write(index === 0 ? id : `${id}With${method}`, route, { schemas, responses });
        return [method.toLowerCase(), operation] as const;
      });
      paths[template] = { ...paths[template], ...Object.fromEntries(operations) };
    }
  };
  add(API_ROUTES, writeOperation);
  add(AUTH_ROUTES, writeAuthOperation);
  const webhooks = writeWebhooks(schemas);
  schemas.write(problemSchema, 'output');
  return schemas.resolve({
    openapi: '3.1.1',
    info: info(publicUrl),
    servers: [{ url: publicUrl }],
    tags: [...Object.entries(TAGS).map(([name, description]) => ({ name, description })), WEBHOOKS_TAG],
    paths,
    webhooks,
    components: {
      responses: sortByName(responses),
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  }) as OpenApiDocument;
}

function sortByName(components: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(Object.entries(components).sort(([one], [other]) => (one < other ? -1 : 1)));
}

const WEBHOOKS_TAG = {
  name: 'Webhooks',
  description: 'Requests to receivers. Each webhook is a `POST` to the URL of a channel.',
};

const SIGN_IN_REFUSED: JsonObject = {
  description: 'Refused by better-auth, or before the request reaches it.',
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
