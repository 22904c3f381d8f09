import { z } from 'zod';
import { component, futureInstant, label, timestamp } from '../fields.ts';
import { LIMITS } from '../limits.ts';

export const createAgentTokenSchema = component('AgentTokenCreate', {
  name: label(LIMITS.nameCharacters).describe('Where the agents with this token run.'),
  expiresAt: futureInstant
    .nullish()
    .describe('When it expires, in the future, with an offset. Without it, the token never expires.'),
});
export type NewAgentToken = z.output<typeof createAgentTokenSchema>;

export const agentTokenSchema = component('AgentToken', 'An agent token, without its secret value.', {
  id: z.uuid(),
  name: z.string().describe('Where the agents with this token run.'),
  createdAt: timestamp,
  expiresAt: timestamp.nullable().describe('Null: it never expires.'),
  lastUsedAt: timestamp
    .nullable()
    .describe('When an agent was last connected with it. Null: never. Updated within seconds.'),
});
export type AgentToken = z.infer<typeof agentTokenSchema>;
