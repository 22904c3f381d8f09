import type { z } from 'zod';
import type { Method, ResponseOf, Route, Routes } from './route.ts';

export interface ClientRequest {
  readonly method: Method;
  /** Path with parameters and query. */
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

/** Sends a request. @returns the parsed JSON of a success, or undefined without JSON. Rejects otherwise. */
export type Send = (request: ClientRequest) => Promise<unknown>;

type RouteAt<Table extends Routes, Endpoint extends string> = Extract<
  Table[keyof Table],
  { readonly endpoint: Endpoint }
>;

type InputOf<Schema> = Schema extends z.ZodType ? z.input<Schema> : never;
/** A request option, which is absent, optional if it has no required fields, or required. */
type Option<Name extends string, Value> = [Value] extends [never]
  ? unknown
  : Record<string, never> extends Value
    ? { readonly [Key in Name]?: Value }
    : { readonly [Key in Name]: Value };

type IdOption<R> = R extends { readonly resource: string } ? { readonly id: string } : unknown;
type SchemaOf<R, Key extends string> =
  R extends Readonly<Record<Key, infer Schema>> ? InputOf<Schema> : never;
type RequestOptions<R extends Route> = { readonly signal?: AbortSignal } & IdOption<R> &
  Option<'path', SchemaOf<R, 'path'>> &
  Option<'query', SchemaOf<R, 'query'>> &
  Option<'body', SchemaOf<R, 'body'>> &
  Option<'headers', SchemaOf<R, 'headers'>>;

type Arguments<Options> = Record<string, never> extends Options ? [options?: Options] : [options: Options];

export type Client<Table extends Routes> = <Endpoint extends Table[keyof Table]['endpoint']>(
  endpoint: Endpoint,
  ...options: Arguments<RequestOptions<RouteAt<Table, Endpoint>>>
) => Promise<ResponseOf<RouteAt<Table, Endpoint>>>;

/**
 * A client typed by a route table, of which only the type is needed: `createClient<typeof channelRoutes>(send)`, then
 * `client('GET /api/dashboard/channels/:id', { id })`.
 */
export function createClient<Table extends Routes>(send: Send): Client<Table> {
  interface AnyOptions {
    readonly id?: string;
    readonly path?: Readonly<Record<string, string>>;
    readonly query?: Readonly<Record<string, string | undefined>>;
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal;
  }
  const call = async (endpoint: string, options: AnyOptions = {}): Promise<unknown> => {
    const [method = '', pattern = ''] = endpoint.split(' ');
    const parameters: Readonly<Record<string, string>> = { id: options.id ?? '', ...options.path };
    const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) =>
      encodeURIComponent(parameters[name] ?? ''),
    );
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined) query.set(name, value);
    }
    return send({
      method: method as Method,
      path: query.size === 0 ? path : `${path}?${query.toString()}`,
      body: options.body,
      headers: options.headers ?? {},
      signal: options.signal,
    });
  };
  return call as Client<Table>;
}
