import {
  resolve,
  type Answer,
  type OpenApi,
  type OperationObject,
  type Parameter,
  type Schema,
} from './open-api.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

export interface Operation {
  /** Names it in the page's address. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string | null;
  /** What a request must carry; empty where anybody may. */
  readonly credentials: readonly Credential[];
  readonly parameters: readonly Parameter[];
  readonly body: Body | null;
  readonly answers: readonly StatusAnswer[];
}

type Credential = 'API key' | 'session';

interface Body {
  readonly schema: Schema;
  readonly required: boolean;
  readonly example: unknown;
}

interface StatusAnswer {
  readonly status: string;
  readonly description: string;
  readonly mediaType: string | null;
  readonly schema: Schema | null;
}

export interface OperationGroup {
  readonly name: string;
  readonly description: string | null;
  readonly operations: readonly Operation[];
}

/** The operations of a document by their first tag, in the order of its tags. */
export function listOperations(document: OpenApi): OperationGroup[] {
  const all = operationsOf(document, document.paths);
  const described = document.tags ?? [];
  const names = new Set([...described.map(({ name }) => name), ...all.map(({ tag }) => tag)]);
  return [...names]
    .map((name) => ({
      name,
      description: described.find((tag) => tag.name === name)?.description ?? null,
      operations: all.filter(({ tag }) => tag === name).map(({ operation }) => operation),
    }))
    .filter(({ operations }) => operations.length > 0);
}

/** What is sent to channels: each event is the "path". */
export function listWebhooks(document: OpenApi): Operation[] {
  return operationsOf(document, document.webhooks ?? {}).map(({ operation }) => operation);
}

/** Those of which a word of the query stands in path, summary or method; all for an empty query. */
export function searchOperations(groups: readonly OperationGroup[], query: string): OperationGroup[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return groups
    .map((group) => ({
      ...group,
      operations: group.operations.filter(({ method, path, summary }) => {
        const text = `${group.name} ${method} ${path} ${summary}`.toLowerCase();
        return words.every((word) => text.includes(word));
      }),
    }))
    .filter(({ operations }) => operations.length > 0);
}

function operationsOf(
  document: OpenApi,
  paths: OpenApi['paths'],
): { readonly tag: string; readonly operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const found = item[method];
      if (found === undefined || Array.isArray(found)) return [];
      const operation = found as OperationObject;
      const shared = (item['parameters'] ?? []) as readonly Parameter[];
      return [
        {
          tag: operation.tags?.[0] ?? 'Other',
          operation: toOperation(document, method, path, operation, shared),
        },
      ];
    }),
  );
}

function toOperation(
  document: OpenApi,
  method: string,
  path: string,
  operation: OperationObject,
  shared: readonly Parameter[],
): Operation {
  const { requestBody, security = document.security ?? [] } = operation;
  const schemes = security.flatMap((way) => Object.keys(way));
  const content = Object.values(requestBody?.content ?? {})[0];
  return {
    id: operation.operationId ?? `${method}-${path}`,
    method: method.toUpperCase(),
    path,
    summary: operation.summary ?? '',
    description: operation.description ?? null,
    credentials: schemes.map((scheme) => credentialOf(document, scheme)),
    parameters: [...shared, ...(operation.parameters ?? [])].map((parameter) => resolve(document, parameter)),
    body: content?.schema
      ? {
          schema: content.schema,
          required: requestBody?.required === true,
          example: content.example ?? Object.values(content.examples ?? {})[0]?.value,
        }
      : null,
    answers: Object.entries(operation.responses ?? {}).map(([status, answer]) =>
      toAnswer(status, resolve(document, answer)),
    ),
  };
}

function credentialOf(document: OpenApi, scheme: string): Credential {
  const described: unknown = document.components?.['securitySchemes']?.[scheme];
  const isBearer =
    typeof described === 'object' && described !== null && Reflect.get(described, 'scheme') === 'bearer';
  return isBearer ? 'API key' : 'session';
}

function toAnswer(status: string, { description, content }: Answer): StatusAnswer {
  const [first] = Object.entries(content ?? {});
  return {
    status,
    description,
    mediaType: first?.[0] ?? null,
    schema: first?.[1].schema ?? null,
  };
}
