import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import { storableText } from '../fields.ts';
import { LIMITS } from '../limits.ts';

/** The chapters of the API reference, in order. */
export const TAGS = {
  Monitors: 'What is checked, how often, and from where. For programs, with an API key.',
  Checks: 'Results of checks, and triggering a check. For programs, with an API key.',
  Documentation: 'The machine-readable documents behind this page.',
  'Monitors in the dashboard':
    'The monitors API for signed-in users, with the same rules, and what only the dashboard shows.',
  'Live stream': 'Checks and status changes of the account, about a second after they are recorded.',
  Channels: 'Receivers of webhooks.',
  Deliveries: 'Webhooks sent to receivers, their responses, and redelivery.',
  Incidents: 'Periods in which a monitor was `DOWN`. The service opens and resolves them.',
  Reports: 'How available monitors were in a period.',
  'Maintenance windows': 'Periods in which monitors are checked but send no alerts.',
  Regions: 'Where checks run, and whether any checker serves them.',
  'API keys': 'Keys for programs.',
  People: 'Users of the account and invitations.',
  Accounts:
    'Teams on this installation. For operators, with a session or `Authorization: Bearer <OPERATOR_API_KEY>`. Operators see no monitors, unless they are members of the account.',
  'Audit log':
    'Who changed what, and when. Entries cannot be changed, and are deleted only with their account.',
  'Signing in':
    'Sessions of the dashboard. Responses and errors come from [better-auth](https://better-auth.com). Only the parts that the dashboard uses are listed.',
  Operation: 'For operators of Tocsin: probes and metrics.',
} as const;
type Tag = keyof typeof TAGS;

/**
 * Who may call a route. `key` is any valid API key. `owner key` is a key with the scope `write` that an owner or operator created, or that
 * comes from the settings. `member` is any signed-in user of the account, but viewers have read-only access. `user` is any signed-in user,
 * without an account. `operator` is a user who manages accounts, or `OPERATOR_API_KEY`.
 */
export type Access = 'anyone' | 'key' | 'write key' | 'owner key' | 'member' | 'owner' | 'user' | 'operator';

/** Display names of the resources that the `:id` in a path can identify. */
export const RESOURCES = {
  monitor: 'monitor',
  channel: 'channel',
  delivery: 'delivery',
  incident: 'incident',
  maintenanceWindow: 'maintenance window',
  apiKey: 'API key',
  user: 'user',
  invitation: 'invitation',
  account: 'account',
} as const;
export type ResourceKind = keyof typeof RESOURCES;

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A response header that only some routes send. */
export type ResponseHeader = 'Location' | 'ETag' | 'Idempotency-Replayed' | 'Set-Cookie';

/** A response other than the route's success and the standard error format. */
interface OtherResponse {
  readonly status: 201 | 304 | 503;
  readonly description: string;
  readonly response: z.ZodType | null;
}

/** Declares a route. The server, the OpenAPI document, typed clients, tests and the fuzzer derive from it. */
export interface Route {
  /** Method and path. Its parameter is `:id`, or one of `path`. */
  readonly endpoint: `${Method} /${string}`;
  /** Another method that means the same. */
  readonly alias?: Method;
  readonly tag: Tag;
  readonly summary: string;
  /** Markdown, beyond the schemas. */
  readonly description?: string;
  readonly access: Access;
  /** If any key may call the route, returns whether a request with this body requires the scope `write`. */
  readonly requiresWriteScope?: (body: Readonly<Record<string, unknown>>) => boolean;
  /** Set if the path has an `:id`. Another account's resource is not found. */
  readonly resource?: ResourceKind;
  /** Parameters of the path besides `:id`. What does not match is not found. */
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  /** If unset, the route reads no body. */
  readonly body?: z.ZodObject;
  /** Unset: `LIMITS.apiBodyBytes`. */
  readonly maxBodyBytes?: number;
  readonly bodyExample?: unknown;
  /** Status code of a success. Unset: 200, or 204 without a body. */
  readonly status?: 201 | 202 | 302;
  /** Body of a success, as a JSON schema or another media type. If unset, there is none. */
  readonly response?: z.ZodType | 'text/plain' | 'text/event-stream';
  readonly responseExample?: unknown;
  /** Headers of a success, besides those that every response has. */
  readonly responseHeaders?: readonly ResponseHeader[];
  /** The data of an event stream's messages, by the name of the event. */
  readonly messages?: Readonly<Record<string, z.ZodType>>;
  readonly otherResponses?: readonly OtherResponse[];
  /** Errors that depend on stored state or on rules beyond the schemas, besides those that `errorsOf` derives. */
  readonly errors?: readonly ErrorCode[];
  /** True if a success contains a secret that other responses hide. */
  readonly showsSecret?: true;
  /** True if viewers may not read it, because it contains what a target or a user keeps secret. */
  readonly isHiddenFromViewers?: true;
  /** True if a success may have many megabytes, and is sent while it is read. */
  readonly isStreamed?: true;
  /** True if a success must not be compressed for callers who may write, because it then contains secrets. */
  readonly isUncompressed?: true;
}

/** Routes by operation id. */
export type Routes = Readonly<Record<string, Route>>;

/** A table of routes with what they have in common, unless a route declares otherwise. */
type WithCommon<Common, Table> = { readonly [Id in keyof Table]: Omit<Common, keyof Table[Id]> & Table[Id] };

/** Declares routes. The literal types are kept, because handlers and clients are typed from them. */
export function defineRoutes<
  const Common extends Partial<Route>,
  const Table extends Readonly<Record<string, Omit<Route, keyof Common> & Partial<Route>>>,
>(common: Common, table: Table): WithCommon<Common, Table> {
  const entries = Object.entries(table).map(([id, route]) => [id, { ...common, ...route }]);
  return Object.fromEntries(entries) as WithCommon<Common, Table>;
}

/** Ends the operation id of a route for users that an API key may call, too. */
export const IN_DASHBOARD = 'InDashboard';

type ForUsers<R extends Route> = Omit<R, 'endpoint' | 'tag' | 'access' | 'requiresWriteScope'> & {
  readonly tag: Tag;
  readonly access: R['access'] extends 'owner key' ? 'owner' : 'member';
  readonly endpoint: R['endpoint'] extends `${infer M} /api/cli/${infer Path}`
    ? `${M} /api/dashboard/${Path}`
    : never;
};
type WithDashboard<Table extends Routes> = Table & {
  readonly [Id in keyof Table & string as `${Id}${typeof IN_DASHBOARD}`]: ForUsers<Table[Id]>;
};

/**
 * Adds the same routes for signed-in users: owners may do what an owner's key may, and members what any key with the scope `write` may.
 * @param table routes for API keys, under `/api/cli`
 * @param tag of the added routes. Defaults to the tag of each route
 */
export function withDashboard<Table extends Routes>(table: Table, tag?: Tag): WithDashboard<Table> {
  const added = Object.entries(table).map(([id, declared]) => {
    const { requiresWriteScope: _, ...route } = declared;
    const endpoint = route.endpoint.replace('/api/cli/', '/api/dashboard/');
    const access = route.access === 'owner key' ? 'owner' : 'member';
    return [`${id}${IN_DASHBOARD}`, { ...route, endpoint, access, tag: tag ?? route.tag }] as const;
  });
  return { ...table, ...Object.fromEntries(added) } as WithDashboard<Table>;
}

/** A body without fields, which may be omitted. */
export const noFields = z.strictObject({});

/** Request headers of a route that accepts `If-Match`. */
export function ifMatch(description: string): z.ZodObject<{ 'If-Match': z.ZodOptional<z.ZodString> }> {
  return z.object({ 'If-Match': z.string().optional().describe(description) });
}

const matchesVersion = ifMatch(
  'The `ETag` that you read. If the resource has changed since, the request returns 412.',
);

const ifNoneMatch = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .describe('The `ETag` of your copy. If it is still current, the request returns 304 without a body.'),
});

const KEY_RULE = `must be 1 to ${LIMITS.idempotencyKeyCharacters} visible ASCII characters, such as a UUID`;
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
/** RFC 9651, section 3.3.3: quoted, with `"` and `\` escaped. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

const keyHeader = z
  .string()
  .transform((header) => QUOTED.exec(header)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? header)
  .pipe(
    z
      .string()
      .regex(KEY, { error: KEY_RULE, abort: true })
      .max(LIMITS.idempotencyKeyCharacters, { error: KEY_RULE }),
  )
  .optional()
  .describe(
    `A name for this request, such as a UUID: visible ASCII, at most ${LIMITS.idempotencyKeyCharacters} characters. For ${LIMITS.idempotencyKeyHours} hours, the same request with the same key returns the first response and creates nothing. Another request with the key returns 422. A request while the first one is in progress returns 409 with \`Retry-After\`.`,
  )
  .meta({ pattern: KEY.source });

/** Plain or quoted, as in the IETF draft. */
const idempotencyKey = z.object({ 'Idempotency-Key': keyHeader });

/** Parts that all reads and writes of resources share: conditional requests, repeatable creation and unique keys. */
export const READ = {
  access: 'key',
  headers: ifNoneMatch,
  responseHeaders: ['ETag'],
  otherResponses: [{ status: 304, description: 'Not modified.', response: null }],
} as const;
export const CREATE = {
  access: 'write key',
  headers: idempotencyKey,
  status: 201,
  responseHeaders: ['Location', 'ETag', 'Idempotency-Replayed'],
  errors: ['request_in_flight', 'idempotency_key_reused', 'conflict', 'quota_exceeded'],
} as const;
export const UPDATE = {
  access: 'write key',
  alias: 'PATCH',
  headers: matchesVersion,
  responseHeaders: ['ETag'],
  errors: ['precondition_failed', 'conflict', 'quota_exceeded'],
} as const;
/** For changes that must not be made twice by mistake. */
export const CONDITIONAL = { headers: matchesVersion, errors: ['precondition_failed'] } as const;
export const DELETE = { ...CONDITIONAL, access: 'write key' } as const;

/** Reads a resource by the key that its creator chose. */
export const READ_BY_EXTERNAL_ID = {
  ...READ,
  path: z.object({
    externalId: storableText.describe('The `externalId`, percent-encoded: `/` becomes `%2F`.'),
  }),
} as const;

type OutputOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type Member<R, Key extends keyof Route> = R extends Readonly<Record<Key, infer Value>> ? Value : undefined;

/** The validated parts of a request. */
export type PathOf<R extends Route> = OutputOf<Member<R, 'path'>>;
export type BodyOf<R extends Route> = OutputOf<Member<R, 'body'>>;
export type QueryOf<R extends Route> = OutputOf<Member<R, 'query'>>;
export type HeadersOf<R extends Route> = OutputOf<Member<R, 'headers'>>;
/** The JSON of a success, or `undefined` without a JSON body. */
export type ResponseOf<R extends Route> = OutputOf<Member<R, 'response'>>;

export function methodOf({ endpoint }: Pick<Route, 'endpoint'>): Method {
  return endpoint.slice(0, endpoint.indexOf(' ')) as Method;
}

export function pathOf({ endpoint }: Pick<Route, 'endpoint'>): string {
  return endpoint.slice(endpoint.indexOf(' ') + 1);
}

/** The status code of a success. */
export function statusOf({ status, response }: Pick<Route, 'status' | 'response'>): number {
  return status ?? (response === undefined ? 204 : 200);
}

export function isForWriters({ access }: Pick<Route, 'access'>): boolean {
  return access === 'write key' || access === 'owner key';
}

/** Returns whether a request may name the account, because its user may have several. */
export function namesAccount(access: Access): boolean {
  return access === 'member' || access === 'owner' || access === 'user';
}

/** Returns whether a viewer may not call a route of an account's members. */
export function isRefusedToViewers({
  access,
  endpoint,
  isHiddenFromViewers,
}: Pick<Route, 'access' | 'endpoint' | 'isHiddenFromViewers'>): boolean {
  return access === 'member' && (isHiddenFromViewers === true || methodOf({ endpoint }) !== 'GET');
}

/** Returns whether a request with an API key may change something, which the key's sources may not allow. */
export function changesAsKey(route: Pick<Route, 'endpoint' | 'access' | 'requiresWriteScope'>): boolean {
  if (methodOf(route) === 'GET') return false;
  return isForWriters(route) || route.requiresWriteScope !== undefined;
}

/** Every error that a route may return, in the order of the server's checks. */
export function errorsOf(route: Route): readonly ErrorCode[] {
  const { access, body } = route;
  const isForBrowsers = /^\/api\/(?:dashboard|operator)\//.test(pathOf(route));
  const isInAccount = access === 'member' || access === 'owner';
  const codes: (ErrorCode | false)[] = [
    isForBrowsers && methodOf(route) !== 'GET' && 'untrusted_origin',
    access !== 'anyone' && (/key$|^operator$/.test(access) ? 'unauthorized' : 'not_signed_in'),
    (access !== 'anyone' || isForBrowsers) && 'rate_limited',
    isInAccount && 'account_required',
    body !== undefined && 'body_too_large',
    body !== undefined && 'unsupported_media_type',
    body !== undefined && 'malformed_body',
    (isForWriters(route) || route.requiresWriteScope !== undefined) && 'forbidden',
    access === 'operator' && 'operator_required',
    isRefusedToViewers(route) && 'member_required',
    access.startsWith('owner') && 'owner_required',
    (isInAccount || route.resource !== undefined || route.path !== undefined) && 'not_found',
    // These refuse unknown parameters of the query.
    (/^\/api\/(?:cli|dashboard|operator)\//.test(pathOf(route)) || body !== undefined) && 'validation_failed',
    changesAsKey(route) && 'source_not_allowed',
    ...(route.errors ?? []),
    'internal',
    (access !== 'anyone' || body !== undefined) && 'unavailable',
  ];
  return [...new Set(codes.filter((code) => code !== false))];
}
