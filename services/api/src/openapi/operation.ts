import { errorsOf } from '@tocsin/contracts/routes/route';
import type { Access, Operation, ResourceKind } from '@tocsin/contracts/routes/route';
import type { z } from 'zod';
import { headersWith } from './responses.ts';
import type { ErrorAnswers } from './responses.ts';
import type { JsonObject, SchemaBook } from './schemas.ts';

/** Where operations put what they share. */
export interface Shared {
  readonly schemas: SchemaBook;
  readonly errors: ErrorAnswers;
}

const KINDS: Readonly<Record<ResourceKind, string>> = {
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

const SUCCESS = {
  200: 'Success.',
  201: 'It was made.',
  202: 'It was accepted, and is done soon.',
  204: 'It was done; there is nothing to say.',
  302: 'Go on there.',
} as const;

/** The Operation Object of a route of ours. @param route such as `GET /api/cli/monitors/:id` */
export function writeOperation(route: string, operation: Operation, shared: Shared): JsonObject {
  return {
    ...describeOperation(route, operation, shared.schemas),
    responses: {
      [operation.ok]: successAnswer(operation, shared.schemas),
      ...furtherAnswers(operation, shared.schemas),
      ...shared.errors.write(errorsOf(route, operation)),
    },
  };
}

/** The same of a route that is better-auth's: of what it refuses, little is known. */
export function writeForeignOperation(route: string, operation: Operation, shared: Shared): JsonObject {
  return {
    ...describeOperation(route, operation, shared.schemas),
    responses: {
      [operation.ok]: successAnswer(operation, shared.schemas),
      ...furtherAnswers(operation, shared.schemas),
      '4XX': { $ref: '#/components/responses/SignInRefused' },
      '5XX': { $ref: '#/components/responses/SignInRefused' },
    },
  };
}

function describeOperation(route: string, operation: Operation, schemas: SchemaBook): JsonObject {
  const { id, tag, summary, description, needs, query, headers } = operation;
  const parameters = [
    ...pathParameters(route, operation),
    ...(query === undefined ? [] : fieldParameters('query', query, schemas)),
    ...(headers === undefined ? [] : fieldParameters('header', headers, schemas)),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: SECURITY[needs],
    ...(parameters.length > 0 && { parameters }),
    ...requestBody(operation, schemas),
  };
}

function pathParameters(route: string, { kind }: Operation): JsonObject[] {
  return [...route.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: kind === undefined ? `The ${name}.` : `The id of ${KINDS[kind]}.`,
    schema: kind === undefined ? { type: 'string' } : { type: 'string', format: 'uuid' },
  }));
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

/** What is said of a field is said of the parameter. */
function fieldParameter(place: string, name: string, field: JsonObject, required: boolean): JsonObject {
  const { description, ...schema } = field;
  return { name, in: place, required, ...(description !== undefined && { description }), schema };
}

function requestBody({ body, bodyExample }: Operation, schemas: SchemaBook): JsonObject {
  if (body === undefined) return {};
  const content = {
    schema: schemas.write(body, 'input'),
    ...(bodyExample !== undefined && { example: bodyExample }),
  };
  // No body is read as one without fields.
  const required = !body.safeParse({}).success;
  return { requestBody: { required, content: { 'application/json': content } } };
}

function successAnswer(operation: Operation, schemas: SchemaBook): JsonObject {
  const { ok, answer, answerExample, answerHeaders = [], messages, needs } = operation;
  const limited = needs === 'anyone' ? [] : (['RateLimit', 'RateLimit-Policy'] as const);
  return {
    description: SUCCESS[ok],
    headers: headersWith(...answerHeaders, ...limited),
    ...(answer !== null && {
      content: {
        [typeof answer === 'string' ? answer : 'application/json']: {
          schema: typeof answer === 'string' ? { type: 'string' } : schemas.write(answer, 'output'),
          ...(answerExample !== undefined && { example: answerExample }),
          ...(messages !== undefined && { 'x-messages': writeEach(messages, schemas) }),
        },
      },
    }),
  };
}

function writeEach(messages: Readonly<Record<string, z.ZodType>>, schemas: SchemaBook): JsonObject {
  return Object.fromEntries(
    Object.entries(messages).map(([kind, schema]) => [kind, schemas.write(schema, 'output')]),
  );
}

function furtherAnswers({ further = [] }: Operation, schemas: SchemaBook): JsonObject {
  return Object.fromEntries(
    further.map(({ status, description, answer }) => [
      status,
      {
        description,
        headers: headersWith(),
        ...(answer !== null && {
          content: { 'application/json': { schema: schemas.write(answer, 'output') } },
        }),
      },
    ]),
  );
}
