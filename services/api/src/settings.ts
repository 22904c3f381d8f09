import type { Quotas } from '@tocsin/contracts/accounts/account';
import { hashToken } from '@tocsin/core/secrets/tokens';
import { localUrl } from '@tocsin/runtime/listen';
import { settings, type Settings } from '@tocsin/runtime/settings';
import type { HttpLimits } from './http/http-server.ts';

export const apiSettings = settings.pick({
  PORT: true,
  HOST: true,
  PUBLIC_URL: true,
  TRUST_PROXY: true,
  HSTS_INCLUDE_SUBDOMAINS: true,
  DASHBOARD_DIR: true,
  API_RATE_LIMIT_PER_MINUTE: true,
  API_REQUEST_TIMEOUT_SECONDS: true,
  API_KEEP_ALIVE_SECONDS: true,
  DATABASE_URL: true,
  DATABASE_DIRECT_URL: true,
  DATABASE_POOL_SIZE: true,
  QUEUE_URL: true,
  SECRETS_KEY: true,
  AGENT_URL: true,
  DEFAULT_REGION: true,
  REGIONS: true,
  EVENT_RETENTION_DAYS: true,
  EVENT_PARTITION_MINUTES: true,
  ROLLUP_PERIOD_MINUTES: true,
  EGRESS_ALLOW_CIDRS: true,
  BOOTSTRAP_API_KEY: true,
  BOOTSTRAP_READ_KEY: true,
  BOOTSTRAP_ADMIN_EMAIL: true,
  BOOTSTRAP_ADMIN_PASSWORD: true,
  OPERATOR_API_KEY: true,
  ACCOUNT_MAX_MONITORS: true,
  ACCOUNT_MAX_CHANNELS: true,
  ACCOUNT_MAX_MAINTENANCE_WINDOWS: true,
  ACCOUNT_MAX_REGIONS: true,
  ACCOUNT_MAX_CHECKS_PER_MINUTE: true,
  OIDC_ISSUER: true,
  OIDC_CLIENT_ID: true,
  OIDC_CLIENT_SECRET: true,
  OIDC_SCOPES: true,
  OIDC_TRUST_EMAIL: true,
  OIDC_GROUPS_CLAIM: true,
});
export type Env = Pick<Settings, keyof typeof apiSettings.shape>;

export interface ApiSettings {
  readonly defaultRegion: string;
  /** Regions that monitors may use, or null to allow all well-formed codes. */
  readonly regions: readonly string[] | null;
  readonly retentionDays: number;
  /** Requests per minute for each key or session, or 0 for no limit. */
  readonly rateLimitPerMinute: number;
  /** Has the same meaning as Express' `trust proxy`. */
  readonly trustProxy: number | false | readonly string[];
  /** The address that users see, without a trailing slash. */
  readonly publicUrl: string;
  /** URL at which agents connect. */
  readonly agentUrl: string;
  readonly hstsIncludeSubDomains: boolean;
  /** SHA-256 of `OPERATOR_API_KEY`, or null if it is not set. */
  readonly operatorKeyHash: string | null;
  /** Folder of the built dashboard, or null. */
  readonly dashboardDir: string | null;
}

export function requestSettings(env: Env): ApiSettings {
  const publicUrl = env.PUBLIC_URL ?? localUrl(env.HOST, env.PORT);
  return {
    defaultRegion: env.DEFAULT_REGION,
    regions: env.REGIONS ?? null,
    retentionDays: env.EVENT_RETENTION_DAYS,
    rateLimitPerMinute: env.API_RATE_LIMIT_PER_MINUTE,
    trustProxy: env.TRUST_PROXY,
    publicUrl,
    agentUrl: env.AGENT_URL ?? publicUrl,
    hstsIncludeSubDomains: env.HSTS_INCLUDE_SUBDOMAINS,
    operatorKeyHash: env.OPERATOR_API_KEY === undefined ? null : hashToken(env.OPERATOR_API_KEY),
    dashboardDir: env.DASHBOARD_DIR ?? null,
  };
}

export function httpLimits(env: Env): Partial<HttpLimits> {
  const timeoutMs = env.API_REQUEST_TIMEOUT_SECONDS * 1_000;
  return {
    headMs: Math.ceil((timeoutMs * 2) / 3),
    requestMs: timeoutMs,
    responseMs: 2 * timeoutMs,
    keepAliveMs: env.API_KEEP_ALIVE_SECONDS * 1_000,
  };
}

/** Quotas of accounts without their own. */
export function defaultQuotas(env: Env): Quotas {
  return {
    monitors: env.ACCOUNT_MAX_MONITORS,
    channels: env.ACCOUNT_MAX_CHANNELS,
    maintenanceWindows: env.ACCOUNT_MAX_MAINTENANCE_WINDOWS,
    regions: env.ACCOUNT_MAX_REGIONS,
    checksPerMinute: env.ACCOUNT_MAX_CHECKS_PER_MINUTE,
  };
}
