import { SecretBox } from '@tocsin/core/secrets/secret-box';
import type { Logger } from '@tocsin/runtime/logger';
import type { Settings } from '@tocsin/runtime/settings';
import { reportUnreadable } from '../secrets/unreadable-secrets.ts';
import { openDatabase, type DbContext, type OpenDatabase, type OpenDatabaseOptions } from './open.ts';

export type DatabaseSettings = Pick<
  Settings,
  'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'DATABASE_POOL_SIZE' | 'SECRETS_KEY'
>;

/** Opens the database of a service by its settings, and logs which stored secrets no key can decrypt. */
export function openServiceDatabase(
  service: string,
  env: DatabaseSettings,
  logger: Logger,
  { avoidsScans = false }: Pick<OpenDatabaseOptions, 'avoidsScans'> = {},
): OpenDatabase & DbContext {
  const database = openDatabase({
    url: env.DATABASE_URL,
    poolSize: env.DATABASE_POOL_SIZE,
    throughPooler: env.DATABASE_DIRECT_URL !== undefined,
    applicationName: `tocsin ${service}`,
    avoidsScans,
    onIdleError: (error) => logger.warn('An idle database connection broke', { error }),
  });
  const context = { ...database, secrets: new SecretBox(env.SECRETS_KEY) };
  void reportUnreadable(context, (message) => logger.error(message));
  return context;
}
