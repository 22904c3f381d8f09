import type { AuditActor } from '@tocsin/contracts/audit-log/audit-log';

/** Who changes the configuration of an account. */
export interface Actor extends Readonly<AuditActor> {
  readonly accountId: string;
  /** Null: no request caused the change. */
  readonly requestId: string | null;
  /** The sources whose monitors, channels and windows it may change, see `isSourceAllowed`; null: all. */
  readonly sources: readonly string[] | null;
}

/** A user outside a request of the dashboard, such as one who accepts an invitation. */
export function userActor(accountId: string, id: string, name: string): Actor {
  return { accountId, type: 'user', id, name, requestId: null, sources: null };
}

/** Tocsin itself, which changes the configuration at startup and in the background. */
export function systemActor(accountId: string): Actor {
  return { accountId, type: 'system', id: null, name: 'Tocsin', requestId: null, sources: null };
}
