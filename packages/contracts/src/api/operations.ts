import { apiKeyOperations } from './api-keys.ts';
import { channelOperations } from './channels.ts';
import { deliveryOperations } from './deliveries.ts';
import { incidentOperations } from './incidents.ts';
import { maintenanceWindowOperations } from './maintenance-windows.ts';
import { monitorSetOperations } from './monitor-sets.ts';
import { monitorViewOperations } from './monitor-views.ts';
import { monitorOperations } from './monitors.ts';
import type { Operations } from './operation.ts';
import { peopleOperations } from './people.ts';
import { serviceOperations } from './service.ts';
import { streamOperations } from './stream.ts';

/** Every route of the api but better-auth's (`SIGN_IN_OPERATIONS`). The OpenAPI document, the tests and the fuzzer all read this. */
export const OPERATIONS: Operations = {
  ...monitorOperations,
  ...monitorSetOperations,
  ...monitorViewOperations,
  ...streamOperations,
  ...channelOperations,
  ...deliveryOperations,
  ...incidentOperations,
  ...maintenanceWindowOperations,
  ...apiKeyOperations,
  ...peopleOperations,
  ...serviceOperations,
};
