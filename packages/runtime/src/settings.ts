import { unescape } from 'node:querystring';
import { API_KEY_PATTERN, API_KEY_PREFIX } from '@tocsin/contracts/limits';
import { z } from 'zod';
import {
  address,
  builtPages,
  certificateFile,
  flag,
  isSecret,
  list,
  port,
  postgresUrl,
  ratio,
  secretKeys,
  SettingsError,
  url,
  wholeNumber,
  type EnvSource,
} from './env.ts';

const REGION = /^[a-z0-9][a-z0-9-]{0,62}$/;
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
const queueUrl = url([...REDIS_SCHEMES, 'postgres', 'postgresql']);
const apiKey = z
  .string()
  .regex(API_KEY_PATTERN, `must be ${API_KEY_PREFIX} and 48 of 0-9a-f (make one: openssl rand -hex 24)`);

/**
 * Every variable that the services, `npm start` and the containers read. A service takes what it needs:
 * `parseEnv(settings.pick({ PORT: true, DATABASE_URL: true }))`. The metadata of a setting has a `description`, an `example` if
 * there is no default, and `secret: true` if the value must not be shown.
 */
export const settings = z.object({
  PORT: port().default(3000).meta({ description: 'Port of the API and the dashboard.' }),
  HOST: address().optional().meta({
    description: 'IP address of the API and the dashboard. Default: all addresses; `npm start`: 127.0.0.1.',
    example: '127.0.0.1',
  }),
  PUBLIC_URL: url(['http', 'https'])
    .transform((value) => value.replace(/\/+$/, ''))
    .optional()
    .meta({
      description: 'URL of the dashboard. Default: http://localhost:<PORT>, or the address in HOST.',
      example: 'https://tocsin.example.com',
    }),
  TRUST_PROXY: trustProxy().default(false).meta({
    description: 'Proxies in front of the API: their number, addresses or CIDRs (comma-separated), or false.',
  }),
  HSTS_INCLUDE_SUBDOMAINS: flag().default(false).meta({
    description: 'Whether Strict-Transport-Security also covers the subdomains of the host in PUBLIC_URL.',
  }),
  DASHBOARD_DIR: builtPages().optional().meta({
    description: 'Folder of the built dashboard. Default: no dashboard; `npm start` builds and serves it.',
    example: '/usr/share/tocsin/dashboard',
  }),
  API_RATE_LIMIT_PER_MINUTE: wholeNumber(0, 1_000_000).default(1200).meta({
    description: 'Requests per minute and API process for one API key or session; 0 for no limit.',
  }),
  API_REQUEST_TIMEOUT_SECONDS: wholeNumber(1, 300).default(30).meta({
    description:
      'Seconds in which a client must send a request; its headers must arrive in two thirds of this time. The client must read the response in twice this time. Otherwise the API closes the connection.',
  }),
  API_KEEP_ALIVE_SECONDS: wholeNumber(1, 3600).default(65).meta({
    description: 'Seconds for which idle connections stay open. Must exceed the idle timeout of the proxy.',
  }),
  DATABASE_URL: postgresUrl().meta({
    description:
      'URL of PostgreSQL, which stores all data. `npm start` runs an embedded server by default. For several servers with one primary, list them as host1:5432,host2:5432 (not ?host=host1,host2) and append ?target_session_attrs=read-write, primary or any.',
    secret: true,
    example: 'postgres://tocsin:password@db.example.com:5432/tocsin',
  }),
  DATABASE_DIRECT_URL: postgresUrl().optional().meta({
    description: 'Direct URL for leader election and migrations if DATABASE_URL is a transaction pooler.',
    secret: true,
    example: 'postgres://tocsin:password@db-direct.example.com:5432/tocsin',
  }),
  DATABASE_POOL_SIZE: wholeNumber(1, 1000).default(10).meta({
    description: 'Maximum connections to PostgreSQL per process.',
  }),
  QUEUE_URL: queueUrl.meta({
    description:
      'URL of the queue store: redis://, rediss://, redis+sentinel://, redis+cluster://, or postgres:// for small installations. `npm start` chooses one by default. QUEUE_URL_<REGION> gives a region its own Redis, such as QUEUE_URL_EU_WEST_1 for eu-west-1.',
    secret: true,
    example: 'redis://redis.example.com:6379',
  }),
  SECRETS_KEY: secretKeys().meta({
    description:
      'Keys that encrypt stored secrets: 32 bytes in base64 (openssl rand -base64 32), or several, comma-separated. The first encrypts, all decrypt. `npm start` creates one by default.',
    secret: true,
    example: 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
  }),
  REGION: list('region codes', REGION)
    .default(['default'])
    .meta({ description: 'Region, or regions (comma-separated), that this checker serves.' }),
  DEFAULT_REGION: z
    .string()
    .regex(REGION, 'must be a region code: a-z, 0-9 and hyphens, at most 63')
    .default('default')
    .meta({ description: 'Region of monitors that do not name one.' }),
  REGIONS: list('region codes', REGION).optional().meta({
    description: 'Region codes that monitors may name (comma-separated). Default: any valid code.',
    example: 'eu-west-1,us-east-1',
  }),
  CHECK_CONCURRENCY: wholeNumber(1, 10_000).default(500).meta({
    description: 'Concurrent checks per checker and region. Checks of slow targets have a separate limit.',
  }),
  CHECK_CA_FILE: certificateFile().optional().meta({
    description: 'PEM file of additional certificate authorities to trust for targets of checks.',
    example: '/etc/tocsin/targets-ca.pem',
  }),
  WEBHOOK_CA_FILE: certificateFile().optional().meta({
    description: 'PEM file of additional certificate authorities to trust for webhook receivers.',
    example: '/etc/tocsin/receivers-ca.pem',
  }),
  EGRESS_ALLOW_CIDRS: list('addresses or CIDR ranges', /^[0-9a-f:.]+(\/\d{1,3})?$/i)
    .default([])
    .meta({
      description:
        'Private ranges that checks and webhooks may reach (comma-separated), such as 127.0.0.0/8,::1/128 for this machine. Default: none.',
      example: '10.0.0.0/8,fd00::/8',
    }),
  EVENT_RETENTION_DAYS: wholeNumber(1, 36_500).default(90).meta({
    description: 'Days for which events of checks are kept. Hourly statistics are kept longer.',
  }),
  HEALTH_PORT: port().default(8081).meta({
    description: 'Port of /healthz, /readyz and /metrics of the checker and the notifier; 0 for any.',
  }),
  HEALTH_HOST: address().optional().meta({
    description: 'IP address that HEALTH_PORT listens on. Default: all addresses; `npm start`: 127.0.0.1.',
    example: '127.0.0.1',
  }),
  LOG_LEVEL: z
    .enum(['error', 'warn', 'info', 'debug'], 'must be error, warn, info or debug')
    .default('info')
    .meta({ description: 'Lowest severity that is logged: error, warn, info or debug.' }),
  LOG_FORMAT: z.enum(['json', 'pretty'], 'must be json or pretty').optional().meta({
    description: 'Format of the log: json or pretty. Default: pretty on a terminal, otherwise json.',
    example: 'json',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http', 'https']).optional().meta({
    description:
      'OpenTelemetry collector, Jaeger or Tempo that receives traces, as OTLP over HTTP in JSON. Default: no tracing (docs/tracing.md).',
    example: 'http://collector.example.com:4318',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional().meta({
    description: 'Headers to send with traces: name=value, comma-separated.',
    secret: true,
    example: 'authorization=Bearer%20token',
  }),
  OTEL_SERVICE_NAME: z.string().optional().meta({
    description: 'Service name in traces. Default: tocsin-api, tocsin-checker or tocsin-notifier.',
    example: 'tocsin-checker-eu',
  }),
  OTEL_RESOURCE_ATTRIBUTES: z.string().optional().meta({
    description: 'Additional resource attributes of every span: name=value, comma-separated.',
    example: 'deployment.environment.name=production',
  }),
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLERS, `must be one of ${SAMPLERS.join(', ')}`)
    .default('parentbased_always_on')
    .meta({
      description:
        'Which traces are sampled: always_on, always_off or traceidratio. The prefix parentbased_ follows the decision of the caller, if there is one.',
    }),
  OTEL_TRACES_SAMPLER_ARG: ratio().default(1).meta({
    description: 'Share of traces that traceidratio samples, from 0 to 1.',
  }),
  BOOTSTRAP_API_KEY: apiKey.optional().meta({
    description:
      'API key with the scopes read and write, created at startup unless it exists, for GitOps. A deleted key stays deleted.',
    secret: true,
    example: `${API_KEY_PREFIX}${'0123456789abcdef'.repeat(3)}`,
  }),
  BOOTSTRAP_READ_KEY: apiKey.optional().meta({
    description: 'API key with the scope read only, created like BOOTSTRAP_API_KEY.',
    secret: true,
    example: `${API_KEY_PREFIX}${'fedcba9876543210'.repeat(3)}`,
  }),
  BOOTSTRAP_ADMIN_EMAIL: z
    .email('must be an e-mail address')
    .transform((value) => value.toLowerCase())
    .optional()
    .meta({
      description: 'E-mail address of a dashboard user, an owner, created at startup unless it exists.',
      example: 'admin@example.com',
    }),
  BOOTSTRAP_ADMIN_PASSWORD: z
    .string()
    .regex(/^.{8,128}$/s, 'must have 8 to 128 characters')
    .optional()
    .meta({
      description: 'Initial password of that user. It does not overwrite a password that was changed.',
      secret: true,
      example: 'at least 8 characters',
    }),
  OIDC_ISSUER: url(['http', 'https']).optional().meta({
    description:
      'OpenID Connect provider for single sign-on of users and of people with an open invitation. Callback URL: <PUBLIC_URL>/api/auth/callback/oidc.',
    example: 'https://login.example.com/realms/platform',
  }),
  OIDC_CLIENT_ID: z.string().min(1).optional().meta({
    description: 'Client ID of Tocsin at the provider.',
    example: 'tocsin',
  }),
  OIDC_CLIENT_SECRET: z.string().min(1).optional().meta({
    description: 'Client secret of Tocsin at the provider.',
    secret: true,
    example: 'the secret of the client',
  }),
  DATA_DIR: z.string().default('.data').meta({
    description: 'Folder in which `npm start` keeps the data of the embedded servers.',
  }),
});

export type Settings = z.output<typeof settings>;

const QUEUE_URL_PREFIX = 'QUEUE_URL_';

/** The variable for the queue of a region: `eu-west-1` → `QUEUE_URL_EU_WEST_1`. */
export function queueUrlVariable(region: string): string {
  return QUEUE_URL_PREFIX + region.toUpperCase().replaceAll('-', '_');
}

/** All `QUEUE_URL_<REGION>` variables as region → URL. @throws SettingsError */
export function parseRegionQueueUrls(source: EnvSource = process.env): ReadonlyMap<string, string> {
  const urls = new Map<string, string>();
  const errors: string[] = [];
  for (const [name, text] of Object.entries(source)) {
    const value = text?.trim() ?? '';
    if (!name.startsWith(QUEUE_URL_PREFIX) || value === '') continue;
    const region = name.slice(QUEUE_URL_PREFIX.length).toLowerCase().replaceAll('_', '-');
    const result = queueUrl.safeParse(value);
    if (!REGION.test(region))
      errors.push(`${name} must end in a region code in capitals, such as QUEUE_URL_EU_WEST_1`);
    else if (result.success) urls.set(region, result.data);
    else errors.push(`${name} ${result.error.issues[0]?.message ?? 'is not valid'}`);
  }
  if (errors.length > 0) throw new SettingsError(errors.join('\n'));
  return urls;
}

/** All values of secret settings, and the parts of them that are secret: keys of lists and passwords in URLs, also decoded. */
export function secretValues(source: EnvSource = process.env): string[] {
  const names = Object.entries(settings.shape).flatMap(([name, field]) => (isSecret(field) ? [name] : []));
  const regional = Object.keys(source).filter((name) => name.startsWith(QUEUE_URL_PREFIX));
  return [...names, ...regional].flatMap((name) => {
    const value = source[name]?.trim() ?? '';
    const password = /^[a-z][a-z0-9+.-]*:\/\/[^:@/]*:(.+)@/i.exec(value)?.[1];
    const sentinelPassword = /[?&]sentinelPassword=([^&]+)/.exec(value)?.[1];
    const parts = password === undefined ? value.split(',') : [password, unescape(password)];
    if (sentinelPassword !== undefined)
      parts.push(sentinelPassword, unescape(sentinelPassword.replaceAll('+', ' ')));
    return [value, ...parts.map((part) => part.trim())].filter((part) => part !== '');
  });
}

/** A value for Express' `trust proxy`. `true` is refused because every client could then choose its own address. */
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
