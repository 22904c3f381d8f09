import type { Region } from '@tocsin/contracts/regions/region';
import type { Colors } from 'picocolors/types.js';
import type { ApiClient } from '../http/api-client.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plain, tableText } from '../terminal/text.ts';

export interface JsonFlag {
  readonly json?: boolean;
}

export async function listRegions(
  api: Pick<ApiClient, 'listRegions'>,
  { print, printJson, colors }: Terminal,
  { json = false }: JsonFlag,
): Promise<ExitCode> {
  const regions = await api.listRegions();
  if (json) {
    printJson({ regions }, 2);
    return EXIT.ok;
  }
  const rows = regions.map((region) => [
    plain(region.region),
    region.kind,
    healthText(region, colors),
    region.workers === null ? '?' : String(region.workers),
    region.kind === 'agents' ? String(region.agents.length) : '',
    String(region.monitors),
    plain(region.name ?? ''),
  ]);
  print(tableText(['REGION', 'KIND', 'HEALTH', 'WORKERS', 'AGENTS', 'MONITORS', 'NAME'], rows));
  return EXIT.ok;
}

function healthText({ health, since }: Region, colors: Colors): string {
  if (health === 'unknown') return 'no canaries';
  if (health === 'connected') return colors.green(health);
  return colors.red(since === null ? health : `${health} since ${since}`);
}

export async function createRegion(
  api: Pick<ApiClient, 'createRegion'>,
  { print, printJson }: Terminal,
  code: string,
  { name = null, json = false }: JsonFlag & { readonly name?: string | null },
): Promise<ExitCode> {
  const region = await api.createRegion({ code, name });
  if (json) printJson({ region }, 2);
  else
    print(`Created region ${code}. Create a token for its agents: tocsin agent-tokens create ${code} NAME`);
  return EXIT.ok;
}

export async function deleteRegion(
  api: Pick<ApiClient, 'deleteRegion'>,
  { print }: Terminal,
  code: string,
): Promise<ExitCode> {
  await api.deleteRegion(code);
  print(plain(`Deleted region ${code}.`));
  return EXIT.ok;
}
