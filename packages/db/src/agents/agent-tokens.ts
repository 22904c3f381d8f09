import type { AgentToken, NewAgentToken } from '@tocsin/contracts/agents/agent-token';
import { AppError } from '@tocsin/contracts/errors';
import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import { LIMITS } from '@tocsin/contracts/limits';
import { generateAgentToken, hashToken } from '@tocsin/core/secrets/tokens';
import { and, desc, eq, gt, isNull, or, sql } from 'drizzle-orm';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import { type AuditRecord, changesOf, recordAudit } from '../audit-log/record-audit.ts';
import { notFound } from '../database/errors.ts';
import type { Database, Queryable } from '../database/open.ts';
import { firstOf, toWire } from '../database/sql.ts';
import { findAgentRegion } from './agent-regions.ts';
import { agentRegions, agentTokens } from './table.ts';

type AgentTokenRow = typeof agentTokens.$inferSelect;

function toAgentToken({ id, name, createdAt, expiresAt, lastUsedAt }: AgentTokenRow): AgentToken {
  return toWire({ id, name, createdAt, expiresAt, lastUsedAt });
}

/** A valid agent token. */
export interface AgentTokenIdentity extends Readonly<
  Pick<AgentTokenRow, 'id' | 'name' | 'region' | 'expiresAt'>
> {
  /** Account of the region. Null for a shared region. */
  readonly accountId: string | null;
}

/** Finds a token by its hash. Returns null if it was deleted or has expired. */
export async function findAgentToken(db: Queryable, hash: string): Promise<AgentTokenIdentity | null> {
  const { id, name, region, expiresAt } = agentTokens;
  const isValid = or(isNull(expiresAt), gt(expiresAt, sql`now()`));
  const [token] = await db
    .select({ id, name, region, expiresAt, accountId: agentRegions.accountId })
    .from(agentTokens)
    .innerJoin(agentRegions, eq(agentRegions.code, region))
    .where(and(eq(agentTokens.hash, hash), isValid));
  return token ?? null;
}

/** Lists the tokens of a region, including expired ones, newest first. @throws AppError not_found */
export async function listAgentTokens(db: Queryable, accountId: string, code: string): Promise<AgentToken[]> {
  await findAgentRegion(db, accountId, code);
  const rows = await db
    .select()
    .from(agentTokens)
    .where(eq(agentTokens.region, code))
    .orderBy(desc(agentTokens.createdAt), desc(agentTokens.id));
  return rows.map(toAgentToken);
}

/** Creates a token. The raw `token` cannot be read again. @throws AppError source_not_allowed, not_found, conflict if the region has too many */
export async function createAgentToken(
  db: Database,
  actor: Actor,
  code: string,
  { name, expiresAt = null }: NewAgentToken,
): Promise<{ agentToken: AgentToken; token: string }> {
  const token = generateAgentToken();
  return db.transaction(async (tx) => {
    await findAgentRegion(tx, actor.accountId, code, 'no key update');
    requireSource(actor, null);
    if ((await tx.$count(agentTokens, eq(agentTokens.region, code))) >= LIMITS.agentTokens) {
      const message = `A region has at most ${LIMITS.agentTokens} agent tokens. Delete an unused one.`;
      throw new AppError('conflict', message);
    }
    const values = { region: code, name, hash: hashToken(token), expiresAt };
    const created = firstOf(await tx.insert(agentTokens).values(values).returning());
    await recordAudit(tx, actor, [auditToken('created', created)]);
    return { agentToken: toAgentToken(created), token };
  });
}

/** Deletes a token. Its agents are disconnected within about a second. @throws AppError source_not_allowed, not_found */
export async function deleteAgentToken(
  db: Database,
  actor: Actor,
  code: string,
  tokenId: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    await findAgentRegion(tx, actor.accountId, code);
    const isToken = and(eq(agentTokens.region, code), eq(agentTokens.id, tokenId));
    const [deleted] = await tx.delete(agentTokens).where(isToken).returning();
    if (deleted === undefined) throw notFound('agent token');
    requireSource(actor, null);
    await recordAudit(tx, actor, [auditToken('deleted', deleted)]);
  });
}

function auditToken(
  what: 'created' | 'deleted',
  { id, name, region, expiresAt }: AgentTokenRow,
): AuditRecord {
  const fields = { name, region, token: HIDDEN_SECRET, expiresAt };
  const changes = what === 'created' ? changesOf(null, fields) : changesOf(fields, null);
  return { action: `agentToken.${what}`, target: { type: 'agentToken', id, name }, changes };
}
