import { z } from 'zod';
import { API_KEY_PATTERN, API_KEY_PREFIX } from '../limits.ts';
import { API_KEY } from '../routes/examples.ts';
import { defineRoutes } from '../routes/route.ts';
import { apiKeySchema, createApiKeySchema } from './api-key.ts';

const common = { tag: 'API keys', access: 'member' } as const;

export const apiKeyRoutes = defineRoutes(common, {
  listApiKeys: {
    endpoint: 'GET /api/dashboard/api-keys',
    summary: 'List API keys',
    response: z.strictObject({ apiKeys: z.array(apiKeySchema) }),
    responseExample: { apiKeys: [API_KEY] },
  },
  createApiKey: {
    endpoint: 'POST /api/dashboard/api-keys',
    summary: 'Create an API key',
    description:
      'By default, the key has the scopes `read` and `write`. The key itself is returned only in this response.',
    body: createApiKeySchema,
    bodyExample: { name: 'Deployments', expiresAt: '2027-11-20T00:00:00Z' },
    status: 201,
    response: z.strictObject({
      apiKey: apiKeySchema,
      key: z.string().regex(API_KEY_PATTERN).describe('The key itself.'),
    }),
    responseExample: {
      apiKey: { ...API_KEY, lastUsedAt: null },
      key: `${API_KEY_PREFIX}${'0123456789abcdef'.repeat(3)}`,
    },
    showsSecret: true,
    responseHeaders: ['Location'],
  },
  deleteApiKey: {
    endpoint: 'DELETE /api/dashboard/api-keys/:id',
    summary: 'Delete an API key',
    description: 'The key stops working at once. This cannot be undone.',
    resource: 'apiKey',
  },
});
