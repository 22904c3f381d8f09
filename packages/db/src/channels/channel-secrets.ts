import { randomBytes } from 'node:crypto';
import { AppError } from '@tocsin/contracts/errors';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { eq, type SQL, sql } from 'drizzle-orm';
import type { Actor } from '../audit-log/actor.ts';
import { recordAudit } from '../audit-log/record-audit.ts';
import { notFound } from '../database/errors.ts';
import type { DbContext, Transaction } from '../database/open.ts';
import { clockNow, laterThan } from '../database/sql.ts';
import { auditSecret } from './audit-channels.ts';
import { findChannelRow, getChannel, lockChannel, versionOf } from './read-channels.ts';
import { channels } from './table.ts';

/** The previous secret keeps signing for this long, so that receivers can switch one by one. */
const OVERLAP_HOURS = 24;

export function generateSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`;
}

/** Rotates a secret. The current one stays valid for 24 hours, and an older one is dropped at once. @throws AppError owner_required, not_found, source_not_allowed, precondition_failed */
export async function rotateChannelSecret(
  { db, secrets }: DbContext,
  actor: Actor,
  id: string,
  versions: ReadonlySet<string> | null = null,
): Promise<{ secret: string; previousSecretExpiresAt: Date; version: string }> {
  const secret = generateSecret();
  return db.transaction(async (tx) => {
    await lockChannel(tx, actor, id, versions);
    const [rotated] = await tx
      .update(channels)
      .set({ ...rotateTo(secrets, actor, secret), updatedAt: laterThan(channels.updatedAt) })
      .where(eq(channels.id, id))
      .returning({ id: channels.id, name: channels.name, expiresAt: channels.previousSecretExpiresAt });
    if (!rotated?.expiresAt) throw notFound('channel');
    await recordAudit(tx, actor, [auditSecret('secretRotated', rotated)]);
    const version = versionOf(await getChannel(tx, actor.accountId, id));
    return { secret, previousSecretExpiresAt: rotated.expiresAt, version };
  });
}

/** Returns the current signing secret of a channel. @throws AppError not_found */
export async function revealChannelSecret(
  { db, secrets }: DbContext,
  actor: Actor,
  id: string,
): Promise<string> {
  return db.transaction(async (tx) => {
    const row = await findChannelRow(tx, actor.accountId, id);
    const secret = secrets.decrypt(row.sealedSecret);
    await recordAudit(tx, actor, [auditSecret('secretRevealed', row)]);
    return secret;
  });
}

/** Reveals the secret with which a channel was created, for a repeated request. @throws AppError conflict if it no longer signs */
export async function readFirstSecret(
  tx: Transaction,
  secrets: SecretBox,
  actor: Actor,
  id: string,
  fingerprint: string,
): Promise<string> {
  const row = await findChannelRow(tx, actor.accountId, id);
  for (const sealed of [row.sealedSecret, row.sealedPreviousSecret]) {
    const secret = sealed === null ? null : secrets.decrypt(sealed);
    if (secret === null || !secrets.isFingerprint(fingerprint, secret)) continue;
    await recordAudit(tx, actor, [auditSecret('secretRevealed', row)]);
    return secret;
  }
  throw new AppError(
    'conflict',
    'The secret of this channel has been replaced since this request created it.',
  );
}

export interface Rotation {
  readonly sealedSecret: string;
  readonly sealedPreviousSecret: SQL;
  readonly previousSecretExpiresAt: SQL;
}

/** Returns the columns that replace a secret and keep the current one valid for 24 hours. @throws AppError owner_required */
export function rotateTo(secrets: SecretBox, { type, isOwner }: Actor, secret: string): Rotation {
  if (!isOwner) throw ownerRequired(type);
  return {
    sealedSecret: secrets.encrypt(secret),
    sealedPreviousSecret: sql`${channels.sealedSecret}`,
    previousSecretExpiresAt: sql`${clockNow} + make_interval(hours => ${OVERLAP_HOURS})`,
  };
}

function ownerRequired(type: Actor['type']): AppError {
  const advice =
    type === 'apiKey'
      ? 'This API key was created by a member. Leave out the secret, or use a key that an owner created.'
      : 'Ask an owner of the account.';
  return new AppError('owner_required', `Only owners may replace the secret of a channel. ${advice}`);
}
