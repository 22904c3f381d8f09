import type { ApiClient } from '../http/api-client.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain, tableText } from '../terminal/text.ts';
import type { JsonFlag } from './regions.ts';

export async function listAgentTokens(
  api: Pick<ApiClient, 'listAgentTokens'>,
  { print, printJson }: Terminal,
  region: string,
  { json = false }: JsonFlag,
): Promise<ExitCode> {
  const agentTokens = await api.listAgentTokens(region);
  if (json) {
    printJson({ agentTokens }, 2);
    return EXIT.ok;
  }
  const rows = agentTokens.map(({ id, name, createdAt, expiresAt, lastUsedAt }) => [
    id,
    plain(name),
    createdAt,
    expiresAt ?? 'never',
    lastUsedAt ?? 'never',
  ]);
  print(tableText(['ID', 'NAME', 'CREATED', 'EXPIRES', 'LAST USED'], rows));
  return EXIT.ok;
}

/** Prints only the token to stdout, so that a script can store it. */
export async function createAgentToken(
  api: Pick<ApiClient, 'createAgentToken'>,
  { print, printJson, note }: Terminal,
  region: string,
  name: string,
  { expiresAt, json = false }: JsonFlag & { readonly expiresAt?: string },
): Promise<ExitCode> {
  const created = await api.createAgentToken(region, { name, expiresAt: expiresAt ?? null });
  note(`The token is shown only once. Set AGENT_TOKEN to it, and TOCSIN_URL to ${created.url}.`);
  if (json) printJson(created, 2);
  else print(created.token);
  return EXIT.ok;
}

export async function deleteAgentToken(
  api: Pick<ApiClient, 'deleteAgentToken'>,
  { print }: Terminal,
  region: string,
  id: string,
): Promise<ExitCode> {
  await api.deleteAgentToken(region, id);
  print(plain(`Deleted agent token ${id}. Its agents are disconnected.`));
  return EXIT.ok;
}
