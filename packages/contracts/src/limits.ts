/** Limits and defaults of the API. Names include units. */
export const LIMITS = {
  nameCharacters: 255,
  urlCharacters: 2_048,
  intervalSeconds: { min: 5, max: 86_400, default: 60 },
  timeoutSeconds: { min: 1, max: 60, default: 10 },
  failureThreshold: { min: 1, max: 100, default: 1 },
  retryIntervalSeconds: { min: 5, max: 3_600 },
  recoveryThreshold: { min: 1, max: 100, default: 1 },
  canaries: 10,
  headerCount: 50,
  headerNameCharacters: 256,
  headerValueCharacters: 8_192,
  requestBodyBytes: 64 * 1024,
  templateCharacters: 16_384,
  webhookBodyBytes: 64 * 1024,
  remindAfterSeconds: { min: 300, max: 86_400 },
  connectToCharacters: 261,
  /** Certificates and key of a monitor together. */
  tlsBytes: 64 * 1024,
  assertionTextCharacters: 10_000,
  /** All assertions of a monitor, in JSON. */
  assertionsBytes: 128 * 1024,
  statusCodeCount: 20,
  /** Conditions about headers, and about JSON, in one monitor. */
  conditionCount: 20,
  /** Levels of a JSON value in a condition. Deep values overflow the stack when they become text. */
  jsonDepth: 100,
  /** A regular expression or JSON path. */
  expressionCharacters: 1_000,
  maxLatencyMs: 60_000,
  certificateMinDays: 3_650,
  regionCount: 20,
  externalIdCharacters: 255,
  labelCount: 32,
  labelPrefixCharacters: 253,
  labelNameCharacters: 63,
  metricLabels: 20,
  selectorValues: 200,
  keySources: 100,
  accountGroups: 100,
  /** Per region. */
  agentTokens: 100,
  /** Connected agents in a response, per region. */
  listedAgents: 1_000,
  /** Stored pairs of monitors with channels or maintenance windows in an account. */
  assignments: 500_000,
  maintenanceDays: 30,
  maintenanceMonitors: 5_000,
  emailCharacters: 254,
  passwordCharacters: { min: 8, max: 128 },
  apiBodyBytes: 256 * 1024,
  monitorSetBytes: 32 * 1024 * 1024,
  monitorSetSize: 10_000,
  channelSetSize: 1_000,
  /** JSON values in a body. The largest valid set has fewer. */
  bodyValues: 1_400_000,
  idempotencyKeyCharacters: 255,
  idempotencyKeyHours: 24,
  eventsPerRequest: { default: 50, max: 500 },
  noteCharacters: 10_000,
  notesPerIncident: 500,
  recentEvents: 10,
  /** Maximum product of the monitors in a report and the days in its period. */
  reportMonitorDays: 1_000_000,
  recentChecks: { monitors: 200, checks: 30, days: 14 },
  /** Checks since the last full hour that count for a monitor's latency. */
  latencyChecks: 60,
  bulkMonitors: 500,
  bulkChannelMonitors: 5_000,
} as const;

/** An API key consists of this prefix and 192 random bits in hexadecimal. */
export const API_KEY_PREFIX = 'tocsin_live_';
export const API_KEY_PATTERN: RegExp = new RegExp(`^${API_KEY_PREFIX}[0-9a-fA-F]{48}$`);

/** An agent token consists of this prefix and 192 random bits in hexadecimal. */
export const AGENT_TOKEN_PREFIX = 'tocsin_agent_';
export const AGENT_TOKEN_PATTERN: RegExp = new RegExp(`^${AGENT_TOKEN_PREFIX}[0-9a-fA-F]{48}$`);

/** Lower-case letters, digits and hyphens, at most 63 characters, not starting with a hyphen. */
export const REGION_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;

export const STREAM_HEARTBEAT_SECONDS = 15;
