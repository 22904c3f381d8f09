import { agentTokenRoutes } from '@tocsin/contracts/agents/routes';
import { createAgentToken, deleteAgentToken, listAgentTokens } from '@tocsin/db/agents/agent-tokens';
import { type ActorRequest, implement } from '../http/implement.ts';

export const agentTokenApi = implement(agentTokenRoutes, ({ db, settings }) => {
  const list = async ({ caller, path }: ActorRequest<typeof agentTokenRoutes.listAgentTokens>) => ({
    agentTokens: await listAgentTokens(db, caller.accountId, path.code),
  });
  const create = async (request: ActorRequest<typeof agentTokenRoutes.createAgentToken>) => {
    const { caller, path, body, location } = request;
    const created = await createAgentToken(db, caller, path.code, body);
    const Location = location(created.agentToken.id).replace(':code', path.code);
    return { body: { ...created, url: settings.agentUrl }, headers: { Location } };
  };
  const remove = ({ caller, path }: ActorRequest<typeof agentTokenRoutes.deleteAgentToken>) =>
    deleteAgentToken(db, caller, path.code, path.tokenId);
  return {
    listAgentTokens: list,
    listSharedAgentTokens: list,
    createAgentToken: create,
    createSharedAgentToken: create,
    deleteAgentToken: remove,
    deleteSharedAgentToken: remove,
  };
});
