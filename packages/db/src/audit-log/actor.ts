import type { AuditActor } from '@tocsin/contracts/audit-log/audit-log';
import { AppError } from '@tocsin/contracts/errors';
import { isSourceAllowed } from '@tocsin/contracts/labels/sources';

export interface Actor extends Readonly<AuditActor> {
  readonly accountId: string;
  readonly requestId: string | null;
  /** Sources whose monitors, channels and windows the actor may change (see `isSourceAllowed`), or null for all. */
  readonly sources: readonly string[] | null;
  /** True for an owner, or an API key that an owner created. */
  readonly isOwner: boolean;
  /** True for an operator, who need not be a member of the account. Defaults to false. */
  readonly isOperator?: boolean;
}

/** An actor for a user who is not signed in yet, for example one who accepts an invitation. */
export function userActor(
  accountId: string,
  id: string,
  name: string,
  requestId: string | null = null,
): Actor {
  return { accountId, type: 'user', id, name, requestId, sources: null, isOwner: false };
}

/** An actor for Tocsin itself, at startup and in the background. */
export function systemActor(accountId: string): Actor {
  return {
    accountId,
    type: 'system',
    id: null,
    name: 'Tocsin',
    requestId: null,
    sources: null,
    isOwner: true,
  };
}

/** Call it with the source of the locked row in the transaction of the change, and with a new source too. @throws AppError source_not_allowed */
export function requireSource({ sources }: Actor, source: string | null): void {
  if (sources === null || isSourceAllowed(sources, source)) return;
  const what = source === null ? 'resources without a source' : `resources of the source "${source}"`;
  const allowed = sources.map((each) => `"${each}"`).join(', ');
  throw new AppError(
    'source_not_allowed',
    `This API key may not change ${what}. It may change resources of these sources: ${allowed}.`,
  );
}
