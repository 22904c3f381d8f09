/** Every table, for Drizzle and its migration generator. */
export { accounts } from './users/table.ts';
export { apiKeyTombstones, apiKeys } from './api-keys/table.ts';
export { channelMonitors, channels } from './channels/table.ts';
export { attempts, deliveries } from './deliveries/table.ts';
export { checkRollups, checkRollupState } from './check-rollups/table.ts';
export { deletedMonitors } from './monitors/table.ts';
export { events } from './events/table.ts';
export { idempotencyKeys } from './idempotency-keys/table.ts';
export { incidents } from './incidents/table.ts';
export { invitations } from './users/table.ts';
export {
  maintenanceOccurrences,
  maintenanceWindowMonitors,
  maintenanceWindows,
} from './maintenance-windows/table.ts';
export { monitorRegions } from './monitor-regions/table.ts';
export { monitors } from './monitors/table.ts';
export { scheduleSpans } from './monitor-regions/table.ts';
export { sessions, verifications } from './users/table.ts';
export { statusChanges } from './status-changes/table.ts';
export { triggers } from './triggers/table.ts';
export { userLogins, users, userTombstones } from './users/table.ts';
