import { apiKeyOperations } from '../api-keys/routes.ts';
import { channelOperations } from '../channels/routes.ts';
import { deliveryOperations } from '../deliveries/routes.ts';
import { incidentOperations } from '../incidents/routes.ts';
import { streamOperations } from '../live-stream/routes.ts';
import { maintenanceWindowOperations } from '../maintenance-windows/routes.ts';
import { monitorSetOperations } from '../monitor-sets/routes.ts';
import { monitorViewOperations } from '../monitors/dashboard-routes.ts';
import { monitorOperations } from '../monitors/routes.ts';
import { peopleOperations } from '../people/routes.ts';
import { serviceOperations } from '../service/routes.ts';
import type { Operations } from './route.ts';

/** The chapters of the documentation, in their order. */
export const TAGS = {
  Monitors: 'What is checked, how often, and from where. For programs, with an API key.',
  Checks: 'What checks found, and checks at once. For programs, with an API key.',
  Documentation: 'What this page is made of.',
  'Monitors in the dashboard':
    'The same as for programs, by the same rules, for people who are signed in, and what only the dashboard shows.',
  'Live stream': 'What is recorded for the account, about a second later.',
  Channels: 'Receivers of webhooks.',
  Deliveries: 'What was sent to receivers, what they answered, and sending it again.',
  Incidents: 'Times in which a monitor was `DOWN`. The service opens and resolves them.',
  'Maintenance windows': 'Times in which monitors are checked and alert nobody.',
  Regions: 'Where checks are made, and whether somebody makes them.',
  'API keys': 'Keys for programs.',
  People: 'Who belongs to the account, and who is invited.',
  'Signing in':
    'Sessions of the dashboard. Answers and errors are those of [better-auth](https://better-auth.com); this is what the dashboard uses of it.',
  Operation: 'For those who run Tocsin: probes and metrics.',
} as const;
export type Tag = keyof typeof TAGS;

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
