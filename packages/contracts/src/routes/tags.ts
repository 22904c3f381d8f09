/** The chapters of the API reference, in their order. */
export const TAGS = {
  Monitors: 'What is checked, how often, and from where. For programs, with an API key.',
  Checks: 'Results of checks, and triggering a check. For programs, with an API key.',
  Documentation: 'The machine-readable documents behind this page.',
  'Monitors in the dashboard':
    'The monitors API for signed-in users, with the same rules, and what only the dashboard shows.',
  'Live stream': 'What is recorded for the account, about a second later.',
  Channels: 'Receivers of webhooks.',
  Deliveries: 'Webhooks sent to receivers, their responses, and redelivery.',
  Incidents: 'Times in which a monitor was `DOWN`. The service opens and resolves them.',
  'Maintenance windows': 'Times in which monitors are checked but send no alerts.',
  Regions: 'Where checks run, and whether any checker serves them.',
  'API keys': 'Keys for programs.',
  People: 'Users of the account and invitations.',
  'Signing in':
    'Sessions of the dashboard. Responses and errors are those of [better-auth](https://better-auth.com); listed is what the dashboard uses.',
  Operation: 'For operators of Tocsin: probes and metrics.',
} as const;
export type Tag = keyof typeof TAGS;
