import { readFileSync } from 'node:fs';
import type { Operation, Operations } from '@tocsin/contracts/api/operation';
import { OPERATIONS } from '@tocsin/contracts/api/operations';
import { SIGN_IN_OPERATIONS, SINGLE_SIGN_ON_OPERATIONS } from '@tocsin/contracts/api/sign-in';
import { TAGS } from '@tocsin/contracts/api/tags';
import { problemSchema } from '@tocsin/contracts/errors';
import { HEADERS, headersWith } from './answer-headers.ts';
import { info, SECURITY_SCHEMES } from './about.ts';
import { ErrorAnswers } from './error-answers.ts';
import { SchemaBook } from './schema-book.ts';
import type { JsonObject } from './schema-book.ts';
import { writeForeignOperation, writeOperation } from './write-operation.ts';
import type { Shared } from './write-operation.ts';
import { writeWebhooks } from './write-webhooks.ts';

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
