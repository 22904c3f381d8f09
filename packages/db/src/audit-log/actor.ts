import type { AuditActor } from '@tocsin/contracts/audit-log/audit-log';
import { AppError } from '@tocsin/contracts/errors';
import { isSourceAllowed } from '@tocsin/contracts/labels/sources';

/** Who changes the configuration of an account. */
export interface Actor extends Readonly<AuditActor> {
  readonly accountId: string;
  /** Null: no request caused the change. */
  readonly requestId: string | null;
  /** The sources whose monitors, channels and windows it may change, see `isSourceAllowed`; null: all. */
  readonly sources: readonly string[] | null;
  /** Whether it has the rights of an owner. An API key has those of the user who created it. */
  readonly isOwner: boolean;
}

/** A user who is not signed in yet, such as one who accepts an invitation. */
export function userActor(
  accountId: string,
  id: string,
  name: string,
  requestId: string | null = null,
): Actor {
  return { accountId, type: 'user', id, name, requestId, sources: null, isOwner: false };
}

/** Tocsin itself, which changes the configuration at startup and in the background. */
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

/**
 * Call it in the transaction of the change, with the source of the locked row, and with the new source too if it changes.
 * @param source of the monitor, channel or window that the actor wants to create, change or delete; null: it has none
 * @throws AppError source_not_allowed
 */
export function requireSource({ sources }: Actor, source: string | null): void {
  if (sources === null || isSourceAllowed(sources, source)) return;
  const what = source === null ? 'resources without a source' : `resources of the source "${source}"`;
  const allowed = sources.map((each) => `"${each}"`).join(', ');
  throw new AppError(
    'source_not_allowed',
    `This API key may not change ${what}. It may change resources of these sources: ${allowed}.`,
  );
}
