import { unescape } from 'node:querystring';
import {
  AGENT_TOKEN_PATTERN,
  API_KEY_PATTERN,
  API_KEY_PREFIX,
  REGION_PATTERN,
} from '@tocsin/contracts/limits';
import { z } from 'zod';
import {
  address,
  builtPages,
  certificateFile,
  decimal,
  divisorOf,
  flag,
  isSecret,
  list,
  port,
  postgresUrl,
  ratio,
  secretKeys,
  url,
  wholeNumber,
  type EnvSource,
} from './env.ts';

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const REDIS_SCHEMES = [
  'redis',
  'rediss',
  'redis+sentinel',
  'rediss+sentinel',
  'redis+cluster',
  'rediss+cluster',
];
const apiKey = z
  .string()
  .regex(API_KEY_PATTERN, `must be ${API_KEY_PREFIX} and 48 of 0-9a-f (make one: openssl rand -hex 24)`);

const CLUSTER_NAME_RULE = 'must be the name of this cluster: a-z, 0-9 and hyphens, at most 63';
const CLIENT_KEY_RULE = `must be an API key from the page API keys (${API_KEY_PREFIX} and 48 of 0-9a-f)`;

const AGENT_TOKEN_RULE = 'must be a token from the Regions page (tocsin_agent_ and 48 of 0-9a-f)';
const agentToken = z.string(AGENT_TOKEN_RULE).regex(AGENT_TOKEN_PATTERN, AGENT_TOKEN_RULE);

const SECRET = { secret: true };

/** Every variable of the services, `npm start` and the containers (see `.env.example`). Services pick what they need. */
export const settings = z.object({
  PORT: port().default(3000),
  HOST: address().optional(),
  PUBLIC_URL: url(['http', 'https'])
    .transform((value) => value.replace(/\/+$/, ''))
    .refine(isOrigin, 'must be a URL without a path, because Tocsin serves its pages at /')
    .optional(),
  TRUST_PROXY: trustProxy().default(false),
  HSTS_INCLUDE_SUBDOMAINS: flag().default(false),
  DASHBOARD_DIR: builtPages().optional(),
  API_RATE_LIMIT_PER_MINUTE: wholeNumber(0, 1_000_000).default(1200),
  API_REQUEST_TIMEOUT_SECONDS: wholeNumber(1, 300).default(30),
  API_KEEP_ALIVE_SECONDS: wholeNumber(1, 3600).default(65),
  DATABASE_URL: postgresUrl().meta(SECRET),
  DATABASE_DIRECT_URL: postgresUrl().optional().meta(SECRET),
  DATABASE_POOL_SIZE: wholeNumber(1, 1000).default(10),
  QUEUE_URL: url([...REDIS_SCHEMES, 'postgres', 'postgresql']).meta(SECRET),
  SECRETS_KEY: secretKeys().meta(SECRET),
  REGION: list('region codes', REGION_PATTERN).default(['default']),
  DEFAULT_REGION: z
    .string()
    .regex(REGION_PATTERN, 'must be a region code: a-z, 0-9 and hyphens, at most 63')
    .default('default'),
  REGIONS: list('region codes', REGION_PATTERN).optional(),
  CHECK_CONCURRENCY: wholeNumber(1, 10_000).default(500),
  CHECK_CA_FILE: certificateFile().optional(),
  AGENT_PORT: port().optional(),
  AGENT_URL: url(['http', 'https']).optional(),
  TOCSIN_URL: url(['http', 'https']),
  AGENT_TOKEN: agentToken.meta(SECRET),
  AGENT_CONCURRENCY: wholeNumber(1, 100_000).default(4_000),
  HTTPS_PROXY: url(['http', 'https']).optional().meta(SECRET),
  TOCSIN_API_KEY: z.string(CLIENT_KEY_RULE).regex(API_KEY_PATTERN, CLIENT_KEY_RULE).meta(SECRET),
  CLUSTER_NAME: z.string(CLUSTER_NAME_RULE).regex(REGION_PATTERN, CLUSTER_NAME_RULE),
  WATCH_NAMESPACES: list('names of namespaces', /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/).optional(),
  POD_NAMESPACE: z.string().optional(),
  KUBECONFIG: z.string().optional(),
  DEFAULTS: z.string().optional(),
  WEBHOOK_CA_FILE: certificateFile().optional(),
  OPERATOR_WEBHOOK_URL: url(['https']).optional().meta(SECRET),
  OPERATOR_WEBHOOK_SECRET: z
    .string()
    .regex(
      /^whsec_(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2,3}={1,2})?$/,
      'must be whsec_ and at least 24 random bytes in base64 (make one: echo "whsec_$(openssl rand -base64 24)")',
    )
    .optional()
    .meta(SECRET),
  EGRESS_ALLOW_CIDRS: list('addresses or CIDR ranges', /^[0-9a-f:.]+(\/\d{1,3})?$/i).default([]),
  EVENT_RETENTION_DAYS: decimal(0.01, 36_500).default(90),
  EVENT_PARTITION_MINUTES: divisorOf(1_440).default(1_440),
  ROLLUP_PERIOD_MINUTES: divisorOf(60).default(60),
  HEALTH_PORT: port().default(8081),
  HEALTH_HOST: address().optional(),
  LOG_LEVEL: z.enum(['error', 'warn', 'info', 'debug'], 'must be error, warn, info or debug').default('info'),
  LOG_FORMAT: z.enum(['json', 'pretty'], 'must be json or pretty').optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http', 'https']).optional(),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional().meta(SECRET),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: z.string().optional(),
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLERS, `must be one of ${SAMPLERS.join(', ')}`)
    .default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: ratio().default(1),
  BOOTSTRAP_API_KEY: apiKey.optional().meta(SECRET),
  BOOTSTRAP_READ_KEY: apiKey.optional().meta(SECRET),
  BOOTSTRAP_ADMIN_EMAIL: z
    .email('must be an email address')
    .transform((value) => value.toLowerCase())
    .optional(),
  BOOTSTRAP_ADMIN_PASSWORD: z
    .string()
    .regex(/^.{8,128}$/s, 'must have 8 to 128 characters')
    .optional()
    .meta(SECRET),
  OPERATOR_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{32,}$/, 'must have at least 32 characters, without spaces')
    .optional()
    .meta(SECRET),
  ACCOUNT_MAX_MONITORS: wholeNumber(0, 1_000_000_000).default(50_000),
  ACCOUNT_MAX_CHANNELS: wholeNumber(0, 1_000_000_000).default(1_000),
  ACCOUNT_MAX_MAINTENANCE_WINDOWS: wholeNumber(0, 1_000_000_000).default(1_000),
  ACCOUNT_MAX_REGIONS: wholeNumber(0, 1_000_000_000).default(20),
  ACCOUNT_MAX_CHECKS_PER_MINUTE: wholeNumber(0, 1_000_000_000).default(0),
  OIDC_ISSUER: url(['http', 'https']).optional(),
  OIDC_CLIENT_ID: z.string().min(1).optional(),
  OIDC_CLIENT_SECRET: z.string().min(1).optional().meta(SECRET),
  OIDC_SCOPES: z
    .string()
    .regex(/(^|\s)openid(\s|$)/, 'must be scopes, separated by spaces, including openid')
    .default('openid email profile'),
  OIDC_TRUST_EMAIL: flag().default(false),
  OIDC_GROUPS_CLAIM: z.string().min(1).default('groups'),
  DATA_DIR: z.string().default('.data'),
});

export type Settings = z.output<typeof settings>;

/** Returns the values of all secret settings and their secret parts, such as keys of lists and decoded passwords in URLs. */
export function secretValues(source: EnvSource = process.env): string[] {
  const names = Object.entries(settings.shape).flatMap(([name, field]) => (isSecret(field) ? [name] : []));
  return names.flatMap((name) => {
    const value = source[name]?.trim() ?? '';
    const password = /^[a-z][a-z0-9+.-]*:\/\/[^:@/]*:(.+)@/i.exec(value)?.[1];
    const sentinelPassword = /[?&]sentinelPassword=([^&]+)/.exec(value)?.[1];
    const parts = password === undefined ? value.split(',') : [password, unescape(password)];
    if (sentinelPassword !== undefined)
      parts.push(sentinelPassword, unescape(sentinelPassword.replaceAll('+', ' ')));
    return [value, ...parts.map((part) => part.trim())].filter((part) => part !== '');
  });
}

function isOrigin(value: string): boolean {
  const { protocol, host, href } = new URL(value);
  return href === `${protocol}//${host}/`;
}

/** Parses a value for Express' `trust proxy`. `true` is refused, because clients could then choose their own address. */
function trustProxy(): z.ZodType<number | false | readonly string[], string> {
  return z.union(
    [
      wholeNumber(0, 100).transform((hops) => (hops === 0 ? (false as const) : hops)),
      z.literal(['false', 'no', 'off']).transform(() => false as const),
      list('addresses', /^([0-9a-f:.]*[:.][0-9a-f:.]*(\/\d{1,3})?|loopback|linklocal|uniquelocal)$/i),
    ],
    'must be the number of proxies in front, or their addresses, comma-separated, or false',
  );
}
