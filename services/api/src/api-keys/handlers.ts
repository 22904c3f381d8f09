import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { apiKeyRoutes } from '@tocsin/contracts/api-keys/routes';
import { createApiKey, deleteApiKey, listApiKeys } from '@tocsin/db/api-keys/api-keys';
import { implement } from '../http/implement.ts';
import type { UserCaller } from '../http/request-state.ts';

export const apiKeyApi = implement(apiKeyRoutes, ({ db }) => ({
  listApiKeys: async ({ caller }) => {
    const apiKeys = await listApiKeys(db, caller.accountId);
    return { apiKeys: apiKeys.map((apiKey) => visibleTo(caller, apiKey)) };
  },
  createApiKey: async ({ caller, body, location }) => {
    const { expiresAt = null, ...fields } = body;
    const { apiKey, key } = await createApiKey(db, caller, { ...fields, expiresAt });
    return { body: { apiKey: visibleTo(caller, apiKey), key }, headers: { Location: location(apiKey.id) } };
  },
  deleteApiKey: async ({ caller, id }) => deleteApiKey(db, caller, id),
}));

/** Members do not see the email addresses of other users. */
function visibleTo({ role }: UserCaller, apiKey: ApiKey): ApiKey {
  const { createdBy } = apiKey;
  return role === 'owner' ? apiKey : { ...apiKey, createdBy: createdBy && { ...createdBy, email: null } };
}
