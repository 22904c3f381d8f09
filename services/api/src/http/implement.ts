import { AppError } from '@tocsin/contracts/errors';
import {
  type BodyOf,
  type HeadersOf,
  IN_DASHBOARD,
  namesAccount,
  pathOf,
  type PathOf,
  type QueryOf,
  type ResourceKind,
  type ResponseOf,
  type Route,
  type Routes,
  statusOf,
} from '@tocsin/contracts/routes/route';
import { findAccountRow } from '@tocsin/db/accounts/accounts';
import type { Actor } from '@tocsin/db/audit-log/actor';
import type { Request, RequestHandler, Response } from 'express';
import { z } from 'zod';
import { ACCOUNT_PARAMETER } from '../access/access.ts';
import type { ApiContext } from '../context.ts';
import { findResource, resourceNotFound } from '../resources.ts';
import { parseFields } from './errors.ts';
import { hasVersion, versionsOf } from './headers.ts';
import { bodyOf, type RawBody } from './json-body.ts';
import {
  type Caller,
  type OperatorCaller,
  type SessionCaller,
  stateOf,
  type UserCaller,
} from './request-state.ts';

/** Returned by handlers that write the response themselves. */
export const SENT: unique symbol = Symbol('sent');

interface CallerByAccess {
  readonly member: UserCaller;
  readonly owner: UserCaller;
  readonly user: SessionCaller;
  readonly operator: OperatorCaller;
  readonly anyone: undefined;
}

type CallerOf<R extends Route> = R['access'] extends keyof CallerByAccess
  ? CallerByAccess[R['access']]
  : Caller;

interface Accepted<R extends Route> {
  readonly caller: CallerOf<R>;
  /** The `:id` of the path in lower case, or empty. */
  readonly id: string;
  readonly path: PathOf<R>;
  readonly req: Request;
  readonly res: Response;
}

export interface ApiRequest<R extends Route> extends Accepted<R> {
  readonly body: BodyOf<R>;
  readonly query: QueryOf<R>;
  readonly headers: HeadersOf<R>;
  /** The versions in `If-Match`, or null for any. */
  readonly versions: ReadonlySet<string> | null;
  /** Returns the `Location` of a resource that this request created. */
  readonly location: (id: string) => string;
}

/** A request of an account or an operator, for handlers that serve both. */
export type ActorRequest<R extends Route> = Omit<ApiRequest<R>, 'caller'> & { readonly caller: Actor };

type BodyResult<R extends Route> = [ResponseOf<R>] extends [undefined] ? void : ResponseOf<R>;
type ResultOf<R extends Route> =
  | typeof SENT
  | (R['responseHeaders'] extends readonly (infer Name extends string)[]
      ? { readonly body: BodyResult<R>; readonly headers: { readonly [Key in Name]?: string | string[] } }
      : BodyResult<R>);

type Handle<R extends Route> = (request: ApiRequest<R>) => Promise<ResultOf<R>> | ResultOf<R>;

/** For a body with rules beyond its schema. */
interface ParsingHandler<R extends Route> {
  /** Replaces parsing by the schema. @throws AppError */
  readonly parseBody: (body: RawBody, request: Accepted<R>) => Promise<BodyOf<R>> | BodyOf<R>;
  readonly handle: Handle<R>;
}

type Handler<R extends Route> = Handle<R> | ParsingHandler<R>;

/** Handlers by operation id. The same route for users shares its handler. */
export type Handlers<Table extends Routes> = {
  readonly [Id in Exclude<keyof Table, SharedIds<Table>>]: Handler<Table[Id]>;
} & { readonly [Id in SharedIds<Table>]?: Handler<Table[Id]> };

type SharedIds<Table extends Routes> = `${keyof Table & string}${typeof IN_DASHBOARD}` & keyof Table;

export interface Implementation {
  readonly route: Route;
  readonly handler: RequestHandler;
}

export function implement<Table extends Routes>(
  table: Table,
  createHandlers: (context: ApiContext) => Handlers<Table>,
): (context: ApiContext) => Implementation[] {
  return (context) => {
    const handlers = createHandlers(context) as Readonly<Record<string, Handler<Route> | undefined>>;
    return Object.entries<Route>(table).map(([id, route]) => {
      const handler = handlers[id] ?? handlers[id.slice(0, -IN_DASHBOARD.length)];
      if (handler === undefined) throw new Error(`the route ${id} has no handler`);
      return { route, handler: handlerFor(context, route, handler) };
    });
  };
}

function handlerFor(context: ApiContext, declared: Route, handler: Handler<Route>): RequestHandler {
  // Identity providers and probes may add parameters.
  const isStrict = /^\/api\/(?:cli|dashboard|operator)\//.test(pathOf(declared));
  const route = isStrict ? { ...declared, query: (declared.query ?? z.object({})).strict() } : declared;
  const { handle, parseBody = null } = typeof handler === 'function' ? { handle: handler } : handler;
  return async function handleRequest(req, res) {
    const { caller } = stateOf(res);
    const id = route.resource === undefined ? '' : resourceId(req, route.resource);
    // Not every handler of a part of an account, such as its members, looks up the account.
    if (route.resource === 'account') await findAccountRow(context.db, id);
    const path = route.path && pathParameters(route.path, req);
    const accepted = { caller, id, path, req, res } as Accepted<Route>;
    const input = await parse(route, accepted, parseBody).catch(async (error: unknown) => {
      // Reports an unknown resource before invalid fields. A valid request costs no extra query.
      if (route.resource !== undefined && caller !== undefined && 'accountId' in caller)
        await findResource[route.resource]?.(context.db, caller.accountId, id);
      throw error;
    });
    const location = (newId: string): string => `${pathOf(route)}/${newId}`;
    const versions = versionsOf(req.get('if-match'));
    send(req, res, route, await handle({ ...accepted, ...input, versions, location } as ApiRequest<Route>));
  };
}

const uuid = z.uuid();

/** An id that is not a UUID is not found. */
function resourceId({ params: { id } }: Request, kind: ResourceKind): string {
  if (!uuid.safeParse(id).success) throw resourceNotFound(kind);
  return String(id).toLowerCase();
}

/** @throws AppError not_found */
function pathParameters(schema: z.ZodObject, { params }: Request): Record<string, unknown> {
  const result = schema.safeParse(params);
  if (result.success) return result.data;
  throw new AppError(
    'not_found',
    `There is no resource with this ${Object.keys(schema.shape).join(' and ')}.`,
  );
}

async function parse(
  { access, headers, query, body }: Route,
  accepted: Accepted<Route>,
  parseBody: ParsingHandler<Route>['parseBody'] | null,
): Promise<{ headers: unknown; query: unknown; body: unknown }> {
  const { req } = accepted;
  const given = bodyOf(req);
  const { [ACCOUNT_PARAMETER]: _, ...others } = req.query;
  const parameters = namesAccount(access) ? others : req.query;
  const named = Object.keys(headers?.shape ?? {}).map((name) => [name, req.get(name)] as const);
  return {
    headers: headers && parseFields(headers, Object.fromEntries(named)),
    query: query && parseFields(query, parameters, [], 'parameter'),
    body: parseBody === null ? body && parseFields(body, given) : await parseBody(given, accepted),
  };
}

function send(req: Request, res: Response, route: Route, result: unknown): void {
  if (result === SENT) return;
  const { responseHeaders, otherResponses = [], response } = route;
  const { body, headers } = (responseHeaders === undefined ? { body: result, headers: {} } : result) as {
    body: unknown;
    headers: Readonly<Record<string, string | string[] | undefined>>;
  };
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) res.set(name, value);
  const ifNoneMatch = req.get('if-none-match');
  const isConditional = ifNoneMatch !== undefined && otherResponses.some(({ status }) => status === 304);
  const isCurrent = isConditional && hasVersion(ifNoneMatch, String(headers['ETag']).slice(1, -1));
  // Express has its own rules for 304.
  delete req.headers['if-none-match'];
  res.status(isCurrent ? 304 : statusOf(route));
  if (isCurrent || response === undefined) res.end();
  else res.json(body);
}
