import { z } from 'zod';
import { API_KEY } from '../routes/examples.ts';
import { DASHBOARD, many } from '../routes/route.ts';
import type { Operations } from '../routes/route.ts';
import { apiKeySchema, createApiKeySchema } from './api-key.ts';

const KEYS = `${DASHBOARD}/api-keys`;
const tag = 'API keys';

/** API keys of the account (specification "Authentication" 2, 3 and 7). */
export const apiKeyOperations: Operations = {
  [`GET ${KEYS}`]: {
    id: 'listApiKeys',
    tag,
    summary: 'List API keys',
    needs: 'member',
    ok: 200,
    answer: many('apiKeys', apiKeySchema),
    answerExample: { apiKeys: [API_KEY] },
  },
  [`POST ${KEYS}`]: {
    id: 'createApiKey',
    tag,
    summary: 'Create an API key',
    description: 'It may read and write. This answer is the only one that shows it.',
    needs: 'member',
    body: createApiKeySchema,
    bodyExample: { name: 'Deployments', expiresAt: '2027-11-20T00:00:00Z' },
    ok: 201,
    answer: z.strictObject({
      apiKey: apiKeySchema,
      key: z
        .string()
        .regex(/^tocsin_live_[0-9a-f]{48}$/)
        .describe('The key itself.'),
    }),
    answerExample: {
      apiKey: { ...API_KEY, lastUsedAt: null },
      key: `tocsin_live_${'0123456789abcdef'.repeat(3)}`,
    },
    showsSecret: true,
    answerHeaders: ['Location'],
  },
  [`DELETE ${KEYS}/:id`]: {
    id: 'deleteApiKey',
    tag,
    summary: 'Delete an API key',
    description: 'It stops working with the next request, for good.',
    needs: 'member',
    kind: 'apiKey',
    ok: 204,
    answer: null,
  },
};
