import type { AppError } from '@tocsin/contracts/errors';
import type { ResourceKind } from '@tocsin/contracts/routes/route';
import { findChannelRow } from '@tocsin/db/channels/read-channels';
import { notFound } from '@tocsin/db/database/errors';
import type { Database } from '@tocsin/db/database/open';
import { findDeliveryRow } from '@tocsin/db/deliveries/read-deliveries';
import { getIncident } from '@tocsin/db/incidents/read-incidents';
import { invitationNotFound } from '@tocsin/db/users/invitations';
import { findWindowRow } from '@tocsin/db/maintenance-windows/read-windows';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { findUserWithAccount } from '@tocsin/db/users/users';

interface Lookup {
  readonly notFound: () => AppError;
  /** Throws `notFound` if the account has no such resource. Unset if no route of the resource has fields. */
  readonly find?: (db: Database, accountId: string, id: string) => Promise<unknown>;
}

/** What the `:id` of a path can identify. */
export const LOOKUPS: Readonly<Record<ResourceKind, Lookup>> = {
  monitor: { notFound: () => notFound('monitor'), find: findMonitorRow },
  channel: { notFound: () => notFound('channel'), find: findChannelRow },
  delivery: { notFound: () => notFound('delivery'), find: findDeliveryRow },
  incident: { notFound: () => notFound('incident'), find: getIncident },
  maintenanceWindow: { notFound: () => notFound('maintenance window'), find: findWindowRow },
  apiKey: { notFound: () => notFound('API key') },
  user: { notFound: () => notFound('user'), find: findUserWithAccount },
  invitation: { notFound: invitationNotFound },
};
