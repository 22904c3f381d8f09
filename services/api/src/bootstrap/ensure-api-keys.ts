import { ensureAccount } from '@tocsin/db/accounts/ensure-account';
import { ensureApiKey } from '@tocsin/db/api-keys/ensure-api-key';
import type { Database } from '@tocsin/db/database/open';
import type { Logger } from '@tocsin/runtime/logger';

export interface BootstrapKeys {
  readonly BOOTSTRAP_API_KEY?: string | undefined;
  readonly BOOTSTRAP_READ_KEY?: string | undefined;
}

/** Makes sure of the first account and of the keys that the settings name (design §2). A deleted key stays deleted. */
export async function ensureApiKeys(db: Database, keys: BootstrapKeys, logger: Logger): Promise<void> {
  const { id: accountId } = await ensureAccount(db);
  for (const [variable, scopes] of [
    ['BOOTSTRAP_API_KEY', 'read,write'],
    ['BOOTSTRAP_READ_KEY', 'read'],
  ] as const) {
    const key = keys[variable];
    if (key === undefined) continue;
    const outcome = await ensureApiKey(db, { accountId, name: variable, key, scopes });
    if (outcome === 'created') logger.info(`Created the API key of ${variable}`, { scopes });
    if (outcome === 'refused') {
      logger.warn(`The API key of ${variable} was deleted, which cannot be undone: set another one`);
    }
  }
}
