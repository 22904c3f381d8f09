import { createApiKeySchema } from '@tocsin/contracts/api-keys/api-key';
import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { apiKeyNotFound, createApiKey, deleteApiKey, listApiKeys } from '@tocsin/db/api-keys/api-keys';
import { Router } from 'express';
import type { RequestHandler } from 'express';
import type { ApiContext } from '../context.ts';
import { bodyOf, parseJsonBody } from '../http/json-body.ts';
import { parseFields } from '../http/parse-fields.ts';
import { pathIdOf, requirePathId } from '../http/path-id.ts';
import { callerOf } from '../http/request-state.ts';
import { resource } from '../http/resource.ts';
import { keepUncompressed } from '../http/response-headers.ts';

/** API keys of the account (specification "Authentication" 2, 3 and 7). */
export function apiKeysRouter(context: ApiContext): Router {
  const router = Router({ caseSensitive: true });
  resource(router, '/', {
    get: [listHandler(context)],
    post: [keepUncompressed, parseJsonBody, createHandler(context)],
  });
  resource(router, '/:id', {
    delete: [requirePathId(apiKeyNotFound), deleteHandler(context)],
  });
  return router;
}

function listHandler({ db }: ApiContext): RequestHandler {
  return async function answerList(_req, res) {
    const { accountId, role } = callerOf(res);
    const apiKeys = await listApiKeys(db, accountId);
    res.json({ apiKeys: role === 'owner' ? apiKeys : apiKeys.map(withoutEmail) });
  };
}

/** The only answer that shows the key. Every key made here may read and write. */
function createHandler({ db }: ApiContext): RequestHandler {
  return async function answerCreate(req, res) {
    const { name, expiresAt } = parseFields(createApiKeySchema, bodyOf(req));
    const { accountId, userId: createdBy, role } = callerOf(res);
    const { apiKey, key } = await createApiKey(db, {
      accountId,
      name,
      expiresAt: expiresAt ?? null,
      createdBy,
    });
    res
      .status(201)
      .location(`${req.baseUrl}/${apiKey.id}`)
      .json({ apiKey: role === 'owner' ? apiKey : withoutEmail(apiKey), key });
  };
}

/** Members see no addresses of other users. */
function withoutEmail(apiKey: ApiKey): ApiKey {
  const { createdBy } = apiKey;
  return { ...apiKey, createdBy: createdBy && { ...createdBy, email: null } };
}

function deleteHandler({ db }: ApiContext): RequestHandler {
  return async function answerDelete(req, res) {
    await deleteApiKey(db, callerOf(res).accountId, pathIdOf(req));
    res.status(204).end();
  };
}
