import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'GLOBAL_AGENT_HTTP_PROXY', 'npm_config_proxy'];
/** A module that takes longer hangs. */
const HANG_MS = 120_000;

/**
 * Runs a module in a separate Node.js process whose environment names this proxy in every way that Node and libraries know, and tells Node to
 * use it.
 * @param folder a built workspace, whose imports the module uses
 * @param values given to the module as `process.argv` from 1 on
 * @returns the JSON that the module printed
 */
export async function runBehindProxy(
  proxyUrl: string,
  folder: string,
  module: string,
  values: readonly string[],
): Promise<unknown> {
  const proxies = VARIABLES.flatMap((name) => [
    [name, proxyUrl],
    [name.toLowerCase(), proxyUrl],
  ]);
  const env = {
    PATH: process.env['PATH'],
    ...(Object.fromEntries(proxies) as Record<string, string>),
    NO_PROXY: '',
    NODE_USE_ENV_PROXY: '1',
  };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', module, '--', ...values],
    { cwd: folder, env, timeout: HANG_MS },
  );
  return JSON.parse(stdout);
}
