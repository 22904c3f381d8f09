import { z } from 'zod';
import { AGENT_TOKEN_PATTERN, AGENT_TOKEN_PREFIX, LIMITS } from '../limits.ts';
import { regionPath } from '../regions/region.ts';
import { AGENT_TOKEN } from '../routes/examples.ts';
import { defineRoutes, withDashboard } from '../routes/route.ts';
import { agentTokenSchema, createAgentTokenSchema } from './agent-token.ts';

const path = regionPath;

const LIST = {
  summary: 'List the agent tokens of a region',
  path,
  response: z.strictObject({ agentTokens: z.array(agentTokenSchema) }),
  responseExample: { agentTokens: [AGENT_TOKEN] },
} as const;

const CREATE = {
  summary: 'Create an agent token',
  description: `Agents connect with the token. It is returned only in this response. A region has at most ${LIMITS.agentTokens} tokens.`,
  path,
  body: createAgentTokenSchema,
  bodyExample: { name: 'Office in Zurich', expiresAt: '2027-11-20T00:00:00Z' },
  status: 201,
  response: z.strictObject({
    agentToken: agentTokenSchema,
    token: z.string().regex(AGENT_TOKEN_PATTERN).describe('The token itself.'),
    url: z.string().describe('The URL at which agents connect. Set `TOCSIN_URL` to it.'),
  }),
  responseExample: {
    agentToken: { ...AGENT_TOKEN, lastUsedAt: null },
    token: `${AGENT_TOKEN_PREFIX}${'0123456789abcdef'.repeat(3)}`,
    url: 'https://tocsin.example.com',
  },
  showsSecret: true,
  responseHeaders: ['Location'],
  errors: ['conflict'],
} as const;

const DELETE = {
  summary: 'Delete an agent token',
  description: 'Agents with the token are disconnected at once. This cannot be undone.',
  path: path.extend({ tokenId: z.uuid().describe('The id of the agent token.') }),
} as const;

const accountRoutes = defineRoutes(
  { tag: 'Regions', access: 'write key' },
  {
    listAgentTokens: { ...LIST, endpoint: 'GET /api/cli/regions/:code/agent-tokens', access: 'key' },
    createAgentToken: { ...CREATE, endpoint: 'POST /api/cli/regions/:code/agent-tokens' },
    deleteAgentToken: { ...DELETE, endpoint: 'DELETE /api/cli/regions/:code/agent-tokens/:tokenId' },
  },
);

const operatorRoutes = defineRoutes(
  { tag: 'Regions', access: 'operator' },
  {
    listSharedAgentTokens: { ...LIST, endpoint: 'GET /api/operator/regions/:code/agent-tokens' },
    createSharedAgentToken: { ...CREATE, endpoint: 'POST /api/operator/regions/:code/agent-tokens' },
    deleteSharedAgentToken: {
      ...DELETE,
      endpoint: 'DELETE /api/operator/regions/:code/agent-tokens/:tokenId',
    },
  },
);

export const agentTokenRoutes = { ...withDashboard(accountRoutes), ...operatorRoutes };
