import {
  type Access,
  errorsOf,
  RESOURCES,
  type ResourceKind,
  type Route,
  statusOf,
} from '@tocsin/contracts/routes/route';
import { ACCOUNT_HEADER } from '@tocsin/contracts/identity/user-header';
import type { z } from 'zod';
import { errorResponses, headersWith } from './responses.ts';
import type { JsonObject, SchemaBook } from './schemas.ts';

export interface Components {
  readonly schemas: SchemaBook;
  readonly responses: Record<string, JsonObject>;
}

const KEY = [{ apiKey: [] }];
const SESSION = [{ session: [] }];
const OPERATOR_KEY = [{ operatorKey: [] }];
const ACCOUNT_HEADER_PARAMETER: JsonObject = {
  name: ACCOUNT_HEADER,
  in: 'header',
  required: false,
  description:
    'The slug of the account, or its id. Not needed by a user with one account. `?account=<slug>` means the same.',
  schema: { type: 'string' },
};
const SECURITY: Readonly<Record<Access, readonly JsonObject[]>> = {
  anyone: [],
  key: KEY,
  'write key': KEY,
  'owner key': KEY,
  member: SESSION,
  owner: SESSION,
  user: SESSION,
  operator: [...OPERATOR_KEY, ...SESSION],
};

/** Ends the description of a route. The document has no scopes for API keys and sessions. */
const REQUIREMENTS: Readonly<Partial<Record<Access, string>>> = {
  'write key': 'Requires the scope `write`.',
  'owner key': 'Requires the scope `write`, and an API key that an owner created.',
  owner: 'Requires an owner of the account.',
  operator: 'Requires an operator.',
};

const SUCCESS: Readonly<Record<number, string>> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted.',
  204: 'No content.',
  302: 'Redirect.',
};

export function writeOperation(id: string, route: Route, components: Components): JsonObject {
  return {
    ...describeOperation(id, route, components.schemas),
    responses: {
      ...successResponse(route, components.schemas),
      ...otherResponses(route, components.schemas),
      ...errorResponses(errorsOf(route), components.responses),
    },
  };
}

/** For a route that better-auth handles, whose errors are not declared one by one. */
export function writeAuthOperation(id: string, route: Route, { schemas }: Components): JsonObject {
  const refused = { $ref: '#/components/responses/SignInRefused' };
  return {
    ...describeOperation(id, route, schemas),
    responses: { ...successResponse(route, schemas), '4XX': refused, '5XX': refused },
  };
}

function describeOperation(id: string, route: Route, schemas: SchemaBook): JsonObject {
  const { tag, summary, description, access, resource, path, query, headers, body, bodyExample } = route;
  const parameters = [
    ...(resource === undefined ? [] : [idParameter(resource)]),
    ...(path === undefined ? [] : fieldParameters('path', path, schemas)),
    ...(query === undefined ? [] : fieldParameters('query', query, schemas)),
    ...(headers === undefined ? [] : fieldParameters('header', headers, schemas)),
    ...(access === 'member' || access === 'owner' ? [ACCOUNT_HEADER_PARAMETER] : []),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [description ?? `${summary}.`, REQUIREMENTS[access]].filter(Boolean).join(' '),
    security: SECURITY[access],
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: body && {
      // A missing body equals one without fields.
      required: !body.safeParse({}).success,
      content: { 'application/json': { schema: schemas.write(body, 'input'), example: bodyExample } },
    },
  };
}

function idParameter(resource: ResourceKind): JsonObject {
  const schema = { type: 'string', format: 'uuid' };
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: `The id of the ${RESOURCES[resource]}.`,
    schema,
  };
}

function fieldParameters(
  place: 'path' | 'query' | 'header',
  fields: z.ZodObject,
  schemas: SchemaBook,
): JsonObject[] {
  const { properties = {}, required = [] } = schemas.write(fields, 'input') as {
    properties?: Readonly<Record<string, JsonObject>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => {
    return { name, in: place, required: required.includes(name), description, schema };
  });
}

function successResponse(route: Route, schemas: SchemaBook): JsonObject {
  const { response, responseExample, responseHeaders = [], messages = {} } = route;
  const limited = errorsOf(route).includes('rate_limited')
    ? (['RateLimit', 'RateLimit-Policy'] as const)
    : [];
  const status = statusOf(route);
  const events = Object.entries(messages).map(([event, schema]) => [event, schemas.write(schema, 'output')]);
  const isText = typeof response === 'string';
  return {
    [status]: {
      description: SUCCESS[status],
      headers: headersWith(...responseHeaders, ...limited),
      content: response && {
        [isText ? response : 'application/json']: {
          schema: isText ? { type: 'string' } : schemas.write(response, 'output'),
          example: responseExample,
          'x-messages': events.length > 0 ? Object.fromEntries(events) : undefined,
        },
      },
    },
  };
}

function otherResponses({ otherResponses = [] }: Route, schemas: SchemaBook): JsonObject {
  const responses = otherResponses.map(({ status, description, response }) => {
    const schema = response && schemas.write(response, 'output');
    const content = schema === null ? undefined : { 'application/json': { schema } };
    const headers = headersWith(...(status === 304 ? (['ETag'] as const) : []));
    return [status, { description, headers, content }];
  });
  return Object.fromEntries(responses) as JsonObject;
}
