import { AppError } from '@tocsin/contracts/errors';
import { ensureApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import type { Database } from '@tocsin/db/database/open';
import { ensureFirstAccount } from '@tocsin/db/accounts/accounts';
import { makeFirstOperator } from '@tocsin/db/accounts/operators';
import { createUser, findUserByEmail, wasDeleted } from '@tocsin/db/users/users';
import { SettingsError } from '@tocsin/runtime/env';
import type { Logger } from '@tocsin/runtime/logger';
import { hashPassword } from 'better-auth/crypto';
import type { Env } from '../settings.ts';

type BootstrapAdmin = Pick<Env, 'BOOTSTRAP_ADMIN_EMAIL' | 'BOOTSTRAP_ADMIN_PASSWORD'>;
type BootstrapKeys = Pick<Env, 'BOOTSTRAP_API_KEY' | 'BOOTSTRAP_READ_KEY'>;

/**
 * Creates the first owner from the settings, who is an operator. An existing user becomes an operator if there is none, and deleted ones stay deleted.
 * @throws SettingsError if one of the two variables is missing
 */
export async function ensureAdmin(db: Database, admin: BootstrapAdmin, logger: Logger): Promise<void> {
  const { BOOTSTRAP_ADMIN_EMAIL: email, BOOTSTRAP_ADMIN_PASSWORD: password } = admin;
  if (email === undefined) {
    if (password === undefined) return;
    throw new SettingsError('Set BOOTSTRAP_ADMIN_EMAIL, or remove BOOTSTRAP_ADMIN_PASSWORD');
  }
  const existing = await findUserByEmail(db, email);
  if (existing?.emailVerified === false) {
    logger.warn(
      'The address in BOOTSTRAP_ADMIN_EMAIL is not verified, so its user does not become an operator. Remove the user, or set another address.',
    );
    return;
  }
  if (existing !== null) {
    if (await makeFirstOperator(db, existing.id))
      logger.info('Made the user of BOOTSTRAP_ADMIN_EMAIL an operator', { userId: existing.id });
    return;
  }
  if (await wasDeleted(db, email)) {
    logger.warn(
      'The user with the address in BOOTSTRAP_ADMIN_EMAIL was removed and is not created again. Invite the user, or set another address.',
    );
    return;
  }
  const { id: accountId, isDeleted } = await ensureFirstAccount(db);
  if (isDeleted) {
    logger.warn(
      'The first account was deleted, so the user of BOOTSTRAP_ADMIN_EMAIL is not created. Invite the user to another account.',
    );
    return;
  }
  if (password === undefined)
    throw new SettingsError('Set BOOTSTRAP_ADMIN_PASSWORD, the first password of BOOTSTRAP_ADMIN_EMAIL');
  const passwordHash = await hashPassword(password);
  try {
    const { id: userId } = await createUser(db, systemActor(accountId), {
      role: 'owner',
      name: email.split('@', 1)[0] ?? email,
      email,
      emailVerified: true,
      isOperator: true,
      passwordHash,
    });
    logger.info('Created the user of BOOTSTRAP_ADMIN_EMAIL', { userId });
  } catch (error) {
    // Another api process created it at the same time.
    if (!(error instanceof AppError && error.code === 'conflict')) throw error;
  }
}

/** Creates the first account and the API keys from the settings. Deleted keys are not restored. */
export async function ensureApiKeys(db: Database, keys: BootstrapKeys, logger: Logger): Promise<void> {
  const { id: accountId, isDeleted } = await ensureFirstAccount(db);
  for (const [variable, scopes] of [
    ['BOOTSTRAP_API_KEY', 'read,write'],
    ['BOOTSTRAP_READ_KEY', 'read'],
  ] as const) {
    const key = keys[variable];
    if (key === undefined) continue;
    if (isDeleted) {
      logger.warn(
        `The first account was deleted, so the API key in ${variable} is not created. Remove the variable, and create a key in another account.`,
      );
      continue;
    }
    const outcome = await ensureApiKey(db, systemActor(accountId), { name: variable, key, scopes });
    if (outcome === 'created') logger.info(`Created the API key of ${variable}`, { scopes });
    if (outcome === 'refused')
      logger.warn(`The API key in ${variable} was deleted and cannot be restored. Set another key.`);
  }
}
