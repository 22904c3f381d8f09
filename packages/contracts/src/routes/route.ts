import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { Tag } from './routes.ts';

/** Who may ask. `anyone` needs neither key nor session; `key` is any valid one, `member` anybody of the account who is signed in. */
export type Access = 'anyone' | 'key' | 'write key' | 'member' | 'owner';

/** What the `:id` of a path names. */
export type ResourceKind =
  'monitor' | 'channel' | 'delivery' | 'incident' | 'maintenanceWindow' | 'apiKey' | 'user' | 'invitation';

/** What an answer other than JSON is. */
type OtherMediaType = 'text/plain' | 'text/event-stream';

/** A header that only some answers have. */
export type AnswerHeader = 'Location' | 'ETag' | 'Idempotency-Replayed' | 'Set-Cookie';

/** An answer beside success and errors. */
interface FurtherAnswer {
  readonly status: 304 | 503;
  readonly description: string;
  /** Null: no body. */
  readonly answer: z.ZodType | null;
}

/** What a route takes and answers, and who may ask: one fact for the documentation, the tests and programs that try the API. */
export interface Operation {
  /** Its name in clients that are generated from the documentation. */
  readonly id: string;
  readonly tag: Tag;
  /** A few words. */
  readonly summary: string;
  /** What the schemas do not say; Markdown. */
  readonly description?: string;
  readonly needs: Access;
  /** Where any key may ask: whether a request with these fields needs one with the scope `write`. */
  readonly needsWriteIf?: (fields: Readonly<Record<string, unknown>>) => boolean;
  /** Set where the path has an `:id`. */
  readonly kind?: ResourceKind;
  readonly query?: z.ZodObject;
  /** Request headers of its own. */
  readonly headers?: z.ZodObject;
  /** Unset: none is read. */
  readonly body?: z.ZodType;
  /** The most bytes that the body may have; unset: `LIMITS.apiBodyBytes`. */
  readonly bodyBytes?: number;
  readonly bodyExample?: unknown;
  /** The status of success. */
  readonly ok: 200 | 201 | 202 | 204 | 302;
  /** What a success is; null: nothing. */
  readonly answer: z.ZodType | OtherMediaType | null;
  readonly answerExample?: unknown;
  /** What the messages of a stream are, by their kind. */
  readonly messages?: Readonly<Record<string, z.ZodType>>;
  readonly further?: readonly FurtherAnswer[];
  /** What the state, or rules beyond the schemas, may call for, besides what `errorsOf` tells of every route. */
  readonly refusals?: readonly ErrorCode[];
  /** Whether a success shows something that is a secret elsewhere. */
  readonly showsSecret?: true;
  /** Of a success, besides those of every answer. */
  readonly answerHeaders?: readonly AnswerHeader[];
}

/** By method and path, such as `GET /api/cli/monitors/:id`. */
export type Operations = Readonly<Record<string, Operation>>;

/**
 * Every error that a route may answer, in the order in which they are judged (design §3 "Validation"): what its parts bring, and its own
 * refusals.
 * @param route such as `GET /api/cli/monitors/:id`
 */
export function errorsOf(route: string, operation: Operation): readonly ErrorCode[] {
  const { query, body, kind, refusals = [] } = operation;
  const isChange = !route.startsWith('GET ');
  const isForPeople = route.includes(' /api/dashboard/');
  const takesFields = body !== undefined || query !== undefined;
  const codes: (ErrorCode | false)[] = [
    isForPeople && isChange && 'untrusted_origin',
    ...callerErrors(operation),
    body !== undefined && 'body_too_large',
    body !== undefined && 'unsupported_media_type',
    body !== undefined && 'malformed_body',
    (operation.needs === 'write key' || operation.needsWriteIf !== undefined) && 'forbidden',
    operation.needs === 'owner' && 'owner_required',
    kind !== undefined && 'not_found',
    takesFields && 'validation_failed',
    ...refusals,
    'internal',
    (operation.needs !== 'anyone' || body !== undefined) && 'unavailable',
  ];
  return [...new Set(codes.filter((code) => code !== false))];
}

/** Whoever is known is counted. */
function callerErrors({ needs }: Operation): ErrorCode[] {
  if (needs === 'anyone') return [];
  return [needs === 'key' || needs === 'write key' ? 'unauthorized' : 'not_signed_in', 'rate_limited'];
}

/** An answer with one thing under its name. */
export function one(name: string, schema: z.ZodType): z.ZodType {
  return z.strictObject({ [name]: schema });
}

/** An answer with a list under its name. */
export function many(name: string, schema: z.ZodType): z.ZodType {
  return one(name, z.array(schema));
}

/** The body of what has nothing to say: none, or an object without fields. */
export const nothing: z.ZodType = z.strictObject({});

/** Where everything for people who are signed in is. */
export const DASHBOARD = '/api/dashboard';

/** The header `If-Match` of a request that may have it. */
export function ifMatchWith(description: string): z.ZodObject {
  return z.object({ 'If-Match': z.string().optional().describe(description) });
}
