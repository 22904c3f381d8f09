import { AppError } from '@tocsin/contracts/errors';
import type { ApiKeyScope } from '@tocsin/contracts/vocabulary';
import { hashApiKey, isApiKey } from '@tocsin/core/api-key/api-key';
import { findApiKey } from '@tocsin/db/api-keys/find-api-key';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { stateOf } from '../http/request-state.ts';

const BEARER = /^bearer +(\S+) *$/i;

/**
 * Finds out whom a request acts for by its Bearer API key (specification "Authentication"). Postgres is asked each time, so
 * a deleted key stops working at once; what does not even look like a key of ours costs no query.
 */
export function authenticate({ db, lastUsed }: Pick<ApiContext, 'db' | 'lastUsed'>): RequestHandler {
  return async function authenticateRequest(req, res, next) {
    const token = BEARER.exec(req.get('authorization') ?? '')?.[1];
    if (token === undefined)
      throw unauthorized('Send an API key: Authorization: Bearer <API key>.', 'Bearer');
    const identity = isApiKey(token) ? await findApiKey(db, hashApiKey(token)) : null;
    if (identity === null) {
      throw unauthorized('This API key is not known or has expired.', 'Bearer error="invalid_token"');
    }
    lastUsed.note(identity.id);
    stateOf(res).caller = {
      accountId: identity.accountId,
      apiKeyId: identity.id,
      canWrite: hasScope(identity.scopes, 'write'),
      userId: null,
      role: null,
      sessionId: null,
    };
    next();
  };
}

/** @param scopes the comma-separated string, as `read,write` */
function hasScope(scopes: string, scope: ApiKeyScope): boolean {
  return scopes.split(',').some((name) => name.trim() === scope);
}

function unauthorized(detail: string, challenge: string): AppError {
  return new AppError('unauthorized', detail, { headers: { 'WWW-Authenticate': challenge } });
}
