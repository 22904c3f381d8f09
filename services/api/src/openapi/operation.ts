import {
  type Access,
  errorsOf,
  type ResourceKind,
  type Route,
  statusOf,
} from '@tocsin/contracts/routes/route';
import type { z } from 'zod';
import { type ErrorResponses, headersWith } from './responses.ts';
import type { JsonObject, SchemaBook } from './schemas.ts';

/** Components that operations share. */
export interface Shared {
  readonly schemas: SchemaBook;
  readonly errors: ErrorResponses;
}

const RESOURCE_NAMES: Readonly<Record<ResourceKind, string>> = {
  monitor: 'the monitor',
  channel: 'the channel',
  delivery: 'the delivery',
  incident: 'the incident',
  maintenanceWindow: 'the maintenance window',
  apiKey: 'the API key',
  user: 'the user',
  invitation: 'the invitation',
};

const SECURITY: Readonly<Record<Access, readonly JsonObject[]>> = {
  anyone: [],
  key: [{ apiKey: [] }],
  'write key': [{ apiKey: ['write'] }],
  member: [{ session: [] }],
  owner: [{ session: ['owner'] }],
};

const SUCCESS: Readonly<Record<number, string>> = {
  200: 'Success.',
  201: 'Created.',
  202: 'Accepted.',
  204: 'No content.',
  302: 'Redirect.',
};

/** The Operation Object of a route. @param id its operation id */
export function writeOperation(id: string, route: Route, shared: Shared): JsonObject {
  return {
    ...describeOperation(id, route, shared.schemas),
    responses: {
      ...writeSuccess(route, shared.schemas),
      ...writeOtherResponses(route, shared.schemas),
      ...shared.errors.write(errorsOf(route)),
    },
  };
}

/** The same for a route that better-auth handles, whose errors are not declared one by one. */
export function writeAuthOperation(id: string, route: Route, shared: Shared): JsonObject {
  return {
    ...describeOperation(id, route, shared.schemas),
    responses: {
      ...writeSuccess(route, shared.schemas),
      '4XX': { $ref: '#/components/responses/SignInRefused' },
      '5XX': { $ref: '#/components/responses/SignInRefused' },
    },
  };
}

function describeOperation(id: string, route: Route, schemas: SchemaBook): JsonObject {
  const { tag, summary, description, access, query, headers } = route;
  const parameters = [
    ...pathParameters(route),
    ...(query === undefined ? [] : fieldParameters('query', query, schemas)),
    ...(headers === undefined ? [] : fieldParameters('header', headers, schemas)),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: SECURITY[access],
    ...(parameters.length > 0 && { parameters }),
    ...requestBody(route, schemas),
  };
}

function pathParameters(route: Route): JsonObject[] {
  const { resource } = route;
  if (resource === undefined) return [];
  const description = `The id of ${RESOURCE_NAMES[resource]}.`;
  return [
    { name: 'id', in: 'path', required: true, description, schema: { type: 'string', format: 'uuid' } },
  ];
}

function fieldParameters(place: 'query' | 'header', fields: z.ZodObject, schemas: SchemaBook): JsonObject[] {
  const { properties = {}, required = [] } = schemas.write(fields, 'input') as {
    properties?: Readonly<Record<string, JsonObject>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, field]) =>
    fieldParameter(place, name, field, required.includes(name)),
  );
}

/** A parameter takes over the description of its field. */
function fieldParameter(place: string, name: string, field: JsonObject, required: boolean): JsonObject {
  const { description, ...schema } = field;
  return { name, in: place, required, ...(description !== undefined && { description }), schema };
}

function requestBody({ body, bodyExample }: Route, schemas: SchemaBook): JsonObject {
  if (body === undefined) return {};
  const content = {
    schema: schemas.write(body, 'input'),
    ...(bodyExample !== undefined && { example: bodyExample }),
  };
  // A missing body is read as one without fields.
  const required = !body.safeParse({}).success;
  return { requestBody: { required, content: { 'application/json': content } } };
}

function writeSuccess(route: Route, schemas: SchemaBook): JsonObject {
  const { response, responseExample, responseHeaders = [], messages, access } = route;
  const limited = access === 'anyone' ? [] : (['RateLimit', 'RateLimit-Policy'] as const);
  const status = statusOf(route);
  const mediaType = typeof response === 'string' ? response : 'application/json';
  return {
    [status]: {
      description: SUCCESS[status],
      headers: headersWith(...responseHeaders, ...limited),
      ...(response !== undefined && {
        content: {
          [mediaType]: {
            schema: typeof response === 'string' ? { type: 'string' } : schemas.write(response, 'output'),
            ...(responseExample !== undefined && { example: responseExample }),
            ...(messages !== undefined && { 'x-messages': writeEach(messages, schemas) }),
          },
        },
      }),
    },
  };
}

function writeEach(messages: Readonly<Record<string, z.ZodType>>, schemas: SchemaBook): JsonObject {
  return Object.fromEntries(
    Object.entries(messages).map(([event, schema]) => [event, schemas.write(schema, 'output')]),
  );
}

function writeOtherResponses({ otherResponses = [] }: Route, schemas: SchemaBook): JsonObject {
  return Object.fromEntries(
    otherResponses.map(({ status, description, response }) => [
      status,
      {
        description,
        headers: headersWith(),
        ...(response !== null && {
          content: { 'application/json': { schema: schemas.write(response, 'output') } },
        }),
      },
    ]),
  );
}
