import { queryOptions } from '@tanstack/react-query';
import { request } from '../api/request.ts';

/** What these pages read of JSON Schema 2020-12, as OpenAPI 3.1 uses it. */
export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

interface Content {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value?: unknown }>>;
}

export interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}

export interface Answer {
  readonly $ref?: string;
  readonly description: string;
  readonly content?: Readonly<Record<string, Content>>;
}

export interface OperationObject {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, Content>>;
  };
  readonly responses?: Readonly<Record<string, Answer>>;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
}

type PathItem = Readonly<Record<string, OperationObject | readonly Parameter[]>>;

export interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly webhooks?: Readonly<Record<string, PathItem>>;
  readonly security?: OperationObject['security'];
  readonly components?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The document that the api makes of its own schemas. */
export const openApiQuery = queryOptions({
  queryKey: ['openapi'],
  queryFn: ({ signal }) => request<OpenApi>('GET', '/api/cli/openapi.json', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/** What a `$ref` within the document points to; anything else as it is. */
export function resolve<Part extends { readonly $ref?: string }>(document: OpenApi, part: Part): Part {
  if (part.$ref === undefined) return part;
  const keys = part.$ref.replace(/^#\//, '').split('/').map(unescapePointer);
  let found: unknown = document;
  for (const key of keys)
    found = typeof found === 'object' && found !== null ? Reflect.get(found, key) : undefined;
  // What the document holds at a reference is what the reference stands for.
  return (found ?? {}) as Part;
}

/** The name of the component that a schema is, or null where it has none. */
export function schemaName({ $ref }: Schema): string | null {
  return $ref === undefined ? null : unescapePointer($ref.slice($ref.lastIndexOf('/') + 1));
}

function unescapePointer(key: string): string {
  return decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~');
}
