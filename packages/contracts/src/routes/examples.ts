import type { Account } from '../accounts/account.ts';
import type { AgentToken } from '../agents/agent-token.ts';
import type { ApiKey } from '../api-keys/api-key.ts';
import type { AuditEntry } from '../audit-log/audit-log.ts';
import type { Channel } from '../channels/channel.ts';
import type { Attempt, Delivery } from '../deliveries/delivery.ts';
import type { WebhookPayload } from '../deliveries/webhook.ts';
import type { Incident } from '../incidents/incident.ts';
import type { IncidentNote } from '../incidents/timeline.ts';
import type { MaintenanceWindow } from '../maintenance-windows/maintenance-window.ts';
import type { Event } from '../monitors/events.ts';
import { type Monitor, MONITOR_DEFAULTS } from '../monitors/monitor.ts';
import type { MonitorOverview } from '../monitors/overview.ts';
import type { Invitation, User } from '../people/user.ts';
import type { AvailabilityFigures, AvailabilityReport } from '../reports/availability.ts';

/* Examples for the documentation. They show one shop and its people. */

const at = (time: string): string => `2026-11-20T${time}Z`;

export const MONITOR: Monitor = {
  id: '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c',
  name: 'Shop',
  url: 'https://shop.example/health',
  ...MONITOR_DEFAULTS,
  headers: { 'X-Probe': 'tocsin' },
  assertions: { statusCode: 200, bodyContains: '"ok"' },
  failureThreshold: 2,
  regions: ['eu-west-1', 'us-east-1'],
  runbookUrl: 'https://runbooks.example/shop',
  externalId: 'shop',
  source: 'platform/monitors',
  status: 'UP',
  statusSince: at('09:00:00.412'),
  errorDetail: null,
  lastCheckedAt: at('12:00:00.123'),
  createdAt: at('08:59:58.001'),
  updatedAt: at('08:59:58.001'),
};

export const MONITOR_OVERVIEW: MonitorOverview = {
  id: MONITOR.id,
  name: MONITOR.name,
  url: MONITOR.url,
  source: MONITOR.source,
  externalId: MONITOR.externalId,
  labels: MONITOR.labels,
  enabled: MONITOR.enabled,
  status: MONITOR.status,
  statusSince: MONITOR.statusSince,
  errorDetail: null,
  interval: MONITOR.interval,
  regions: MONITOR.regions,
  lastCheckedAt: MONITOR.lastCheckedAt,
  certificateExpiresAt: '2027-02-01T00:00:00.000Z',
  updatedAt: MONITOR.updatedAt,
  failing: false,
  incident: null,
};

export const EVENT: Event = {
  id: '019a9f12-0a01-7b2e-9c44-52c8e1f0a9d7',
  monitorId: MONITOR.id,
  monitorName: 'Shop',
  status: 'DOWN',
  latency: 31,
  statusCode: 503,
  errorReason: 'HTTP_503',
  errorDetail: 'expected status 200, got 503',
  inconclusive: false,
  hasResponse: true,
  region: 'eu-west-1',
  timestamp: at('12:00:00.123'),
  source: 'schedule',
  url: null,
  timings: { dns: 2, tcp: 9, tls: 14, firstByte: 6, download: null },
  runbookUrl: 'https://runbooks.example/shop',
};

export const CHANNEL: Channel = {
  id: '019a9f14-2b6d-7f00-a1b2-6d1e2f3a4b5c',
  name: 'On call',
  url: 'https://hooks.example/tocsin',
  monitorIds: [MONITOR.id],
  allMonitors: false,
  selector: { matchLabels: { app: 'shop' } },
  events: ['incident.created', 'incident.resolved'],
  format: 'standard',
  template: null,
  headers: { Authorization: 'Bearer 1f0e' },
  routingKey: null,
  remindAfter: 3_600,
  externalId: 'on-call',
  source: 'platform/monitors',
  enabled: true,
  disabledReason: null,
  failingSince: null,
  formatError: null,
  createdAt: at('09:10:00.000'),
  updatedAt: at('09:10:00.000'),
};

export const SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';

export const ATTEMPT: Attempt = {
  startedAt: at('12:00:00.180'),
  durationMs: 84,
  statusCode: 204,
  error: null,
  responseExcerpt: null,
};

export const DELIVERY: Delivery = {
  id: '019a9f15-77aa-7d3c-8e21-0f9e8d7c6b5a',
  event: 'monitor.down',
  monitorId: MONITOR.id,
  state: 'delivered',
  timestamp: EVENT.timestamp,
  createdAt: at('12:00:00.150'),
  deliveredAt: at('12:00:00.264'),
  nextAttemptAt: null,
  attemptCount: 1,
  test: false,
};

export const WEBHOOK: WebhookPayload = {
  event: 'monitor.down',
  monitorId: MONITOR.id,
  monitorName: 'Shop',
  status: 'DOWN',
  previousStatus: 'UP',
  latency: 31,
  errorReason: 'HTTP_503',
  region: 'eu-west-1',
  timestamp: EVENT.timestamp,
  runbookUrl: 'https://runbooks.example/shop',
};

export const INCIDENT: Incident = {
  id: '019a9f16-1c2d-7e3f-9a4b-5c6d7e8f9a0b',
  monitorId: MONITOR.id,
  monitorName: 'Shop',
  openedAt: EVENT.timestamp,
  resolvedAt: null,
  durationSeconds: 95,
  cause: 'HTTP_503',
  errorDetail: 'expected status 200, got 503',
  region: 'eu-west-1',
  acknowledgedAt: null,
  acknowledgedBy: null,
};

export const INCIDENT_NOTE: IncidentNote = {
  id: '019a9f1c-d8e9-7afb-8c0d-1e2f30415263',
  text: 'The database is **full**. Adding a volume.',
  author: { id: '019a9f19-7283-7495-86a7-b8c9daebfc0d', name: 'Grace' },
  createdAt: at('12:01:10.000'),
  editedAt: null,
};

const figures: AvailabilityFigures = {
  monitors: 1,
  uptime: 0.99953125,
  measured: 1,
  downtimeSeconds: 1_215,
  maintenanceSeconds: 7_200,
  incidents: 3,
  longestIncidentSeconds: 780,
  mttrSeconds: 405,
  passRate: 0.9995,
  checks: 86_392,
  failures: 41,
  gaps: 8,
};

export const AVAILABILITY_REPORT: AvailabilityReport = {
  from: '2026-10-01T00:00:00.000Z',
  to: '2026-10-31T00:00:00.000Z',
  groupBy: 'monitor',
  maintenance: 'excluded',
  rows: [{ monitorId: MONITOR.id, name: 'Shop', ...figures }],
  total: figures,
};

const occurrence = { startsAt: '2026-11-28T02:00:00.000Z', endsAt: '2026-11-28T04:00:00.000Z' };

export const MAINTENANCE_WINDOW: MaintenanceWindow = {
  id: '019a9f17-3e4f-7051-8263-748596a7b8c9',
  name: 'Weekly upgrade',
  ...occurrence,
  monitorIds: [MONITOR.id],
  selector: { matchLabels: { app: 'shop' } },
  allMonitors: false,
  sources: null,
  externalId: 'weekly-upgrade',
  source: 'platform/monitors',
  rrule: 'FREQ=WEEKLY;BYDAY=SA',
  timeZone: 'Europe/Berlin',
  state: 'scheduled',
  currentOccurrence: null,
  nextOccurrence: occurrence,
  clockChanges: [],
  upcoming: [occurrence],
  createdAt: at('09:30:00.000'),
  updatedAt: at('09:30:00.000'),
};

export const ACCOUNT: Account = {
  id: '019a9f00-0000-7000-8000-000000000001',
  name: 'Shop',
  slug: 'shop',
  quotas: { monitors: 500, channels: 1_000, maintenanceWindows: 1_000, regions: 20, checksPerMinute: 0 },
  ownQuotas: { monitors: 500 },
  usage: { monitors: 12, channels: 2, maintenanceWindows: 1, regions: 1, checksPerMinute: 14.5 },
  groups: [{ group: 'shop-sre', role: 'owner' }],
  createdAt: at('08:00:00.000'),
};

export const USER: User = {
  id: '019a9f19-7283-7495-86a7-b8c9daebfc0d',
  name: 'Grace',
  email: 'grace@shop.example',
  role: 'owner',
  fromGroup: false,
  createdAt: at('08:00:00.000'),
};

export const API_KEY: ApiKey = {
  id: '019a9f18-5061-7273-8495-a6b7c8d9eaf0',
  name: 'Deployments',
  scopes: 'read,write',
  sources: ['platform/*'],
  expiresAt: null,
  lastUsedAt: at('11:59:58.000'),
  createdBy: { id: USER.id, name: USER.name, email: USER.email, removed: false },
  createdAt: at('09:00:00.000'),
};

export const AGENT_TOKEN: AgentToken = {
  id: '019a9f1d-3a5b-7c6d-8e7f-90a1b2c3d4e5',
  name: 'Office in Zurich',
  createdAt: at('09:00:00.000'),
  expiresAt: null,
  lastUsedAt: at('11:59:58.000'),
};

export const INVITATION: Invitation = {
  id: '019a9f1a-94a5-76b7-88c9-daebfc0d1e2f',
  role: 'member',
  email: 'ada@shop.example',
  expiresAt: '2026-11-27T09:00:00.000Z',
  createdAt: at('09:00:00.000'),
};

export const AUDIT_ENTRY: AuditEntry = {
  id: '019a9f1b-b6c7-78d9-8aeb-fc0d1e2f3041',
  timestamp: at('12:30:00.204618'),
  actor: { type: 'apiKey', id: API_KEY.id, name: API_KEY.name },
  requestId: '6b2f0c9e-8d41-4b7a-9f35-2c1e0a7d5b84',
  action: 'monitor.updated',
  target: { type: 'monitor', id: MONITOR.id, name: MONITOR.name },
  changes: [
    { field: 'interval', from: 60, to: 30 },
    { field: 'headers', from: { 'X-Probe': '(secret)' }, to: { 'X-Probe': '(secret)' } },
  ],
};
