import type { AppError } from '@tocsin/contracts/errors';
import type { ResourceKind } from '@tocsin/contracts/routes/route';
import { apiKeyNotFound } from '@tocsin/db/api-keys/api-keys';
import { channelNotFound, findChannelRow } from '@tocsin/db/channels/read-channels';
import type { Database } from '@tocsin/db/database/open';
import { deliveryNotFound, findDeliveryRow } from '@tocsin/db/deliveries/read-deliveries';
import { incidentNotFound } from '@tocsin/db/incidents/read-incidents';
import { invitationNotFound } from '@tocsin/db/users/invitations';
import { findWindowRow, maintenanceWindowNotFound } from '@tocsin/db/maintenance-windows/read-windows';
import { findMonitorRow, monitorNotFound } from '@tocsin/db/monitors/monitor-row';
import { findUserWithAccount, userNotFound } from '@tocsin/db/users/users';

interface Lookup {
  readonly notFound: () => AppError;
  /** Throws `notFound` if the account has no such resource. Unset if no route of the resource has fields. */
  readonly find?: (db: Database, accountId: string, id: string) => Promise<unknown>;
}

/** What the `:id` of a path can identify. */
export const LOOKUPS: Readonly<Record<ResourceKind, Lookup>> = {
  monitor: { notFound: monitorNotFound, find: findMonitorRow },
  channel: { notFound: channelNotFound, find: findChannelRow },
  delivery: { notFound: deliveryNotFound, find: findDeliveryRow },
  incident: { notFound: incidentNotFound },
  maintenanceWindow: { notFound: maintenanceWindowNotFound, find: findWindowRow },
  apiKey: { notFound: apiKeyNotFound },
  user: { notFound: userNotFound, find: findUserWithAccount },
  invitation: { notFound: invitationNotFound },
};
