import { openTestApi, type TestApi } from '@tocsin/api/testing/test-api';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { type Ran, runIn, type TerminalOptions } from './fake-terminal.ts';

export interface RealApi extends TestApi {
  /** Runs a command in a folder. @param options `env` can override the account's API key */
  tocsin(folder: string, args: readonly string[], options?: TerminalOptions): Promise<Ran>;
  /** Reads the external IDs of a source's monitors. */
  keysOf(source: string): Promise<(string | null)[]>;
  channelsOf(source: string): Promise<Channel[]>;
}

/** A listening API with its own database. */
export async function openRealApi(override: Parameters<typeof openTestApi>[0] = {}): Promise<RealApi> {
  const api = await openTestApi(override);
  const env = { TOCSIN_URL: `http://127.0.0.1:${api.port}/`, TOCSIN_API_KEY: api.account.key };
  return {
    ...api,
    tocsin: (folder, args, options) => runIn(folder, args, { ...options, env: { ...env, ...options?.env } }),
    keysOf: async (source) => {
      const { rows } = await api.database.pool.query<{ external_id: string | null }>(
        'select external_id from monitors where source = $1 order by 1',
        [source],
      );
      return rows.map((row) => row.external_id);
    },
    channelsOf: async (source) => {
      const { body } = await api.as().get('/api/cli/channels');
      return (body as { channels: Channel[] }).channels.filter((channel) => channel.source === source);
    },
  };
}
