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
} from './env.ts';
import type { EnvSource, SettingMeta } from './env.ts';

const REGION = /^[a-z0-9][a-z0-9-]{0,62}$/;
const REGION_RULE = 'must be a region code: a-z, 0-9 and hyphens, at most 63';
const API_KEY = /^tocsin_live_[0-9a-fA-F]{48}$/;
const API_KEY_RULE = 'must be tocsin_live_ and 48 of 0-9a-f (make one: openssl rand -hex 24)';

const PASSWORD_RULE = 'must have 8 to 128 characters';

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
const SAMPLER_RULE = `must be one of ${SAMPLERS.join(', ')}`;

const queueUrl = url([
  'redis',
  'rediss',
  'redis+sentinel',
  'rediss+sentinel',
  'redis+cluster',
  'rediss+cluster',
  'postgres',
  'postgresql',
]);
const databaseUrl = postgresUrl();

/** Attaches what people need to know; keeps the exact type of the schema. */
function described<Schema extends z.ZodType>(schema: Schema, meta: SettingMeta): Schema {
  return schema.meta({ ...meta });
}

/**
 * Every variable that services, `npm start` and the containers honour, each stated once (design §2).
 * A `main` takes what it needs: `parseEnv(settings.pick({ PORT: true, DATABASE_URL: true }))`.
 */
export const settings = z.object({
  PORT: described(port({ any: true }).default(3000), {
    description: 'Port of the API and the dashboard.',
  }),
  HOST: described(address().optional(), {
    description:
      'IP address that the API and the dashboard listen on; not set: all of the machine, for `npm start` 127.0.0.1.',
    example: '127.0.0.1',
  }),
  PUBLIC_URL: described(
    url(['http', 'https'])
      .transform((value) => value.replace(/\/+$/, ''))
      .optional(),
    {
      description:
        'The address under which people reach the dashboard; by default http://localhost:<PORT>, or that of HOST.',
      example: 'https://tocsin.example.com',
    },
  ),
  TRUST_PROXY: described(trustProxy().default(false), {
    description:
      'Proxies in front of the API: their number, or their addresses (comma-separated, CIDRs allowed); false for none.',
  }),
  HSTS_INCLUDE_SUBDOMAINS: described(flag().default(false), {
    description:
      'Whether the Strict-Transport-Security header makes browsers use https for the subdomains of the host in PUBLIC_URL, too.',
  }),
  DASHBOARD_DIR: described(builtPages().optional(), {
    description:
      'The folder of the built dashboard, which the api serves at /. `npm start` builds it; not set: the api alone.',
    example: '/usr/share/tocsin/dashboard',
  }),
  API_RATE_LIMIT_PER_MINUTE: described(wholeNumber(0, 1_000_000).default(1200), {
    description: 'Requests a minute for each API key or session and api process; 0 for no limit.',
  }),
  API_REQUEST_TIMEOUT_SECONDS: described(wholeNumber(1, 300).default(30), {
    description:
      'A request that has not arrived after this, its head after two thirds of it, ends with its connection, and so does an answer that is not taken after twice this.',
  }),
  API_KEEP_ALIVE_SECONDS: described(wholeNumber(1, 3600).default(65), {
    description:
      'How long the API keeps an idle connection open; longer than the proxy in front of it, or now and then a request meets a closed one.',
  }),
  DATABASE_URL: described(databaseUrl, {
    description:
      'PostgreSQL, the truth. `npm start` runs an embedded one if this is not set. Several servers of which one is the primary: host1:5432,host2:5432 (not ?host=host1,host2), and ?target_session_attrs=read-write, primary or any at the end.',
    secret: true,
    example: 'postgres://tocsin:password@db.example.com:5432/tocsin',
  }),
  DATABASE_DIRECT_URL: described(databaseUrl.optional(), {
    description:
      'A direct connection for leadership (advisory locks) and migrations where DATABASE_URL is a transaction pooler.',
    secret: true,
    example: 'postgres://tocsin:password@db-direct.example.com:5432/tocsin',
  }),
  DATABASE_POOL_SIZE: described(wholeNumber(1, 1000).default(10), {
    description: 'Most connections to PostgreSQL that one process holds.',
  }),
  QUEUE_URL: described(queueUrl, {
    description:
      "The queue's store: redis://, rediss://, redis+sentinel://, redis+cluster://, or postgres:// for small set-ups. `npm start` finds one if this is not set. A region's own Redis: QUEUE_URL_<REGION>, so eu-west-1 is QUEUE_URL_EU_WEST_1.",
    secret: true,
    example: 'redis://redis.example.com:6379',
  }),
  SECRETS_KEY: described(secretKeys(), {
    description:
      'Encrypts secrets at rest: 32 bytes in base64 (openssl rand -base64 32), or several, comma-separated: the first encrypts, all decrypt. `npm start` makes one if this is not set.',
    secret: true,
    example: 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
  }),
  REGION: described(list('region codes', REGION).default(['default']), {
    description: 'The region, or regions (comma-separated), that this checker serves.',
  }),
  DEFAULT_REGION: described(z.string().regex(REGION, REGION_RULE).default('default'), {
    description: 'The region of a monitor that names none.',
  }),
  REGIONS: described(list('region codes', REGION).optional(), {
    description: 'The only region codes a monitor may name (comma-separated); not set: any well-formed code.',
    example: 'eu-west-1,us-east-1',
  }),
  CHECK_CONCURRENCY: described(wholeNumber(1, 10_000).default(500), {
    description:
      'Checks that one checker runs at the same time, in each region it serves. Slow ones have a limit of their own.',
  }),
  CHECK_CA_FILE: described(certificateFile().optional(), {
    description: 'PEM file of further certificate authorities to trust for targets of checks.',
    example: '/etc/tocsin/targets-ca.pem',
  }),
  WEBHOOK_CA_FILE: described(certificateFile().optional(), {
    description: 'PEM file of further certificate authorities to trust for webhook receivers.',
    example: '/etc/tocsin/receivers-ca.pem',
  }),
  EGRESS_ALLOW_CIDRS: described(list('addresses or CIDR ranges', /^[0-9a-f:.]+(\/\d{1,3})?$/i).default([]), {
    description:
      'Private ranges that checks and webhooks may reach (comma-separated), e.g. 127.0.0.0/8,::1/128 for this machine; not set: none.',
    example: '10.0.0.0/8,fd00::/8',
  }),
  EVENT_RETENTION_DAYS: described(wholeNumber(1, 36_500).default(90), {
    description: 'Days that the events of checks are kept. Hourly statistics are kept longer.',
  }),
  HEALTH_PORT: described(port({ any: true }).default(8081), {
    description: 'Port of /healthz, /readyz and /metrics of checker and notifier; 0 for any free one.',
  }),
  HEALTH_HOST: described(address().optional(), {
    description: 'IP address that these listen on; not set: all of the machine, for `npm start` 127.0.0.1.',
    example: '127.0.0.1',
  }),
  LOG_LEVEL: described(
    z.enum(['error', 'warn', 'info', 'debug'], 'must be error, warn, info or debug').default('info'),
    { description: 'Least severe level that is logged: error, warn, info or debug.' },
  ),
  LOG_FORMAT: described(z.enum(['json', 'pretty'], 'must be json or pretty').optional(), {
    description: 'json or pretty; not set: pretty on a terminal, else json.',
    example: 'json',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: described(url(['http', 'https']).optional(), {
    description:
      'Where traces go: an OpenTelemetry collector, Jaeger or Tempo, as OTLP over HTTP in JSON. Not set: there is no tracing, and it costs nothing (docs/tracing.md).',
    example: 'http://collector.example.com:4318',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: described(z.string().optional(), {
    description: 'Headers to send traces with: name=value, comma-separated.',
    secret: true,
    example: 'authorization=Bearer%20token',
  }),
  OTEL_SERVICE_NAME: described(z.string().optional(), {
    description:
      'What traces name the service; not set: tocsin-api, tocsin-checker and tocsin-notifier, each by itself.',
    example: 'tocsin-checker-eu',
  }),
  OTEL_RESOURCE_ATTRIBUTES: described(z.string().optional(), {
    description: 'What else every span says of its service: name=value, comma-separated.',
    example: 'deployment.environment.name=production',
  }),
  OTEL_TRACES_SAMPLER: described(z.enum(SAMPLERS, SAMPLER_RULE).default('parentbased_always_on'), {
    description:
      'Which traces are kept: always_on, always_off or traceidratio, each with parentbased_ before it to do as whoever asked did.',
  }),
  OTEL_TRACES_SAMPLER_ARG: described(ratio().default(1), {
    description: 'The share of traces that traceidratio keeps, from 0 to 1.',
  }),
  BOOTSTRAP_API_KEY: described(z.string().regex(API_KEY, API_KEY_RULE).optional(), {
    description:
      'Makes sure that this API key (scopes read and write) exists, for GitOps. A deleted key stays deleted.',
    secret: true,
    example: `tocsin_live_${'0123456789abcdef'.repeat(3)}`,
  }),
  BOOTSTRAP_READ_KEY: described(z.string().regex(API_KEY, API_KEY_RULE).optional(), {
    description: 'The same with the scope read only.',
    secret: true,
    example: `tocsin_live_${'fedcba9876543210'.repeat(3)}`,
  }),
  BOOTSTRAP_ADMIN_EMAIL: described(
    z
      .email('must be an e-mail address')
      .transform((value) => value.toLowerCase())
      .optional(),
    {
      description: 'Makes sure that this dashboard user, an owner, exists.',
      example: 'admin@example.com',
    },
  ),
  BOOTSTRAP_ADMIN_PASSWORD: described(z.string().min(8, PASSWORD_RULE).max(128, PASSWORD_RULE).optional(), {
    description: 'The first password of that user; one that was changed since stays.',
    secret: true,
    example: 'at least 8 characters',
  }),
  OIDC_ISSUER: described(url(['http', 'https']).optional(), {
    description:
      'An OpenID Connect provider for single sign-on of users and of people with an open invitation. Its callback: <PUBLIC_URL>/api/auth/callback/oidc.',
    example: 'https://login.example.com/realms/platform',
  }),
  OIDC_CLIENT_ID: described(z.string().min(1).optional(), {
    description: 'The client that the provider knows Tocsin as.',
    example: 'tocsin',
  }),
  OIDC_CLIENT_SECRET: described(z.string().min(1).optional(), {
    description: 'The secret of that client.',
    secret: true,
    example: 'the secret of the client',
  }),
  DATA_DIR: described(z.string().default('.data'), {
    description: 'Where `npm start` keeps the data of the embedded servers.',
  }),
});

export type Settings = z.output<typeof settings>;

const QUEUE_URL_PREFIX = 'QUEUE_URL_';

/** The name of a region's own queue variable: `eu-west-1` → `QUEUE_URL_EU_WEST_1`. */
export function queueUrlVariable(region: string): string {
  return QUEUE_URL_PREFIX + region.toUpperCase().replaceAll('-', '_');
}

/** All `QUEUE_URL_<REGION>` variables as region → URL. Throws a `SettingsError` as `parseEnv` does. */
export function parseRegionQueueUrls(source: EnvSource = process.env): ReadonlyMap<string, string> {
  const urls = new Map<string, string>();
  const errors: string[] = [];
  for (const [name, text] of Object.entries(source)) {
    const value = text?.trim() ?? '';
    if (!name.startsWith(QUEUE_URL_PREFIX) || value === '') continue;
    const region = name.slice(QUEUE_URL_PREFIX.length).toLowerCase().replaceAll('_', '-');
    const result = queueUrl.safeParse(value);
    if (!REGION.test(region))
      errors.push(`${name} must end in a region code in capitals, e.g. QUEUE_URL_EU_WEST_1`);
    else if (result.success) urls.set(region, result.data);
    else errors.push(`${name} ${result.error.issues[0]?.message ?? 'is not valid'}`);
  }
  if (errors.length > 0) throw new SettingsError(errors.join('\n'));
  return urls;
}

/** What must not be shown of these variables: the secret ones as they are, each key of a list, and passwords of URLs. */
export function secretValues(source: EnvSource = process.env): string[] {
  const names = Object.entries(settings.shape).flatMap(([name, field]) => (isSecret(field) ? [name] : []));
  const regional = Object.keys(source).filter((name) => name.startsWith(QUEUE_URL_PREFIX));
  return [...names, ...regional].flatMap((name) => {
    const value = source[name]?.trim() ?? '';
    const password = /^[a-z][a-z0-9+.-]*:\/\/[^:@/]*:(.+)@/i.exec(value)?.[1];
    const parts = password === undefined ? value.split(',') : [password, decoded(password)];
    // As `QUEUE_URL` has it for Sentinels.
    const ofSentinels = /[?&]sentinelPassword=([^&]+)/.exec(value)?.[1];
    if (ofSentinels !== undefined) parts.push(ofSentinels, decoded(ofSentinels.replaceAll('+', ' ')));
    return [value, ...parts.map((part) => part.trim())].filter((part) => part !== '');
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A value for Express' `trust proxy`. `true` is refused: it would let every client choose its own address. */
function trustProxy(): z.ZodType<number | false | readonly string[], string> {
  const message = 'must be the number of proxies in front, or their addresses, comma-separated, or false';
  return z.union(
    [
      wholeNumber(0, 100).transform((hops) => (hops === 0 ? (false as const) : hops)),
      z.literal(['false', 'no', 'off']).transform(() => false as const),
      list('addresses', /^([0-9a-f:.]*[:.][0-9a-f:.]*(\/\d{1,3})?|loopback|linklocal|uniquelocal)$/i),
    ],
    message,
  );
}
