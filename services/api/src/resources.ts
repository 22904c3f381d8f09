import type { AppError } from '@tocsin/contracts/errors';
import { type ResourceKind, RESOURCES } from '@tocsin/contracts/routes/route';
import { findChannelRow } from '@tocsin/db/channels/read-channels';
import { notFound } from '@tocsin/db/database/errors';
import type { Database } from '@tocsin/db/database/open';
import { findDeliveryRow } from '@tocsin/db/deliveries/read-deliveries';
import { getIncident } from '@tocsin/db/incidents/read-incidents';
import { findWindow } from '@tocsin/db/maintenance-windows/read-windows';
import { findMonitorRow } from '@tocsin/db/monitors/monitor-row';
import { invitationNotFound } from '@tocsin/db/users/invitations';
import { findUser } from '@tocsin/db/users/users';

type FindResource = (db: Database, accountId: string, id: string) => Promise<unknown>;

/** Rejects with `not_found` if the account has no such resource. Resources without an entry have no route with fields. */
export const findResource: Readonly<Partial<Record<ResourceKind, FindResource>>> = {
  monitor: findMonitorRow,
  channel: findChannelRow,
  delivery: findDeliveryRow,
  incident: getIncident,
  maintenanceWindow: findWindow,
  user: findUser,
};

export function resourceNotFound(kind: ResourceKind): AppError {
  return kind === 'invitation' ? invitationNotFound() : notFound(RESOURCES[kind]);
}
