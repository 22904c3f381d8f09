export const MONITOR_TYPES = ['HTTP'] as const;

export const MONITOR_STATUSES = ['PENDING', 'UP', 'DOWN', 'MAINTENANCE'] as const;
export type MonitorStatus = (typeof MONITOR_STATUSES)[number];

export const CHECK_STATUSES = ['UP', 'DOWN'] as const;
export type CheckStatus = (typeof CHECK_STATUSES)[number];

export const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'HEAD'] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

/** Methods whose checks send a request body. */
export const METHODS_WITH_BODY: ReadonlySet<HttpMethod> = new Set(['POST', 'PUT', 'PATCH']);

export const CHECK_SOURCES = ['schedule', 'trigger'] as const;
export type CheckSource = (typeof CHECK_SOURCES)[number];

export const WEBHOOK_EVENTS = [
  'monitor.down',
  'monitor.up',
  'monitor.maintenance',
  'incident.created',
  'incident.resolved',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Failure reasons other than `HTTP_<code>`. */
export const NAMED_ERROR_REASONS = ['TIMEOUT', 'DNS_ERROR', 'CONNECTION_REFUSED', 'UNKNOWN_ERROR'] as const;
export type ErrorReason = (typeof NAMED_ERROR_REASONS)[number] | `HTTP_${number}`;

/** Owners also manage people and channel secrets. Viewers have read-only access. */
export const USER_ROLES = ['owner', 'member', 'viewer'] as const;
export type UserRole = (typeof USER_ROLES)[number];

/** What a channel's receiver understands. `custom` renders the template of the channel. */
export const CHANNEL_FORMATS = ['standard', 'slack', 'teams', 'pagerduty', 'alertmanager', 'custom'] as const;
export type ChannelFormat = (typeof CHANNEL_FORMATS)[number];

/** `held` deliveries wait for a disabled channel. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'held'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Checkers of the installation, or agents that connect to it. */
export const REGION_KINDS = ['checkers', 'agents'] as const;

/** `unknown` means that the region has no canaries, and `disconnected` that no agent is connected. */
export const REGION_HEALTHS = ['connected', 'isolated', 'unknown', 'disconnected'] as const;
export type RegionHealth = (typeof REGION_HEALTHS)[number];

export const AUDIT_ACTIONS = [
  'monitor.created',
  'monitor.updated',
  'monitor.deleted',
  'set.applied',
  'channel.created',
  'channel.updated',
  'channel.deleted',
  'channel.disabled',
  'channel.secretRevealed',
  'channel.secretRotated',
  'maintenanceWindow.created',
  'maintenanceWindow.updated',
  'maintenanceWindow.ended',
  'maintenanceWindow.deleted',
  'account.created',
  'account.updated',
  'account.deleted',
  'apiKey.created',
  'apiKey.deleted',
  'user.created',
  'user.updated',
  'user.deleted',
  'user.passwordChanged',
  'invitation.created',
  'invitation.accepted',
  'invitation.deleted',
  'region.created',
  'region.updated',
  'region.deleted',
  'agentToken.created',
  'agentToken.deleted',
  'incident.acknowledged',
  'incident.acknowledgementRemoved',
  'session.created',
  'session.failed',
] as const;
