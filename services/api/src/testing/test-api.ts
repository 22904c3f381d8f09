import { randomBytes, randomUUID } from 'node:crypto';
import dns from 'node:dns';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll } from '@jest/globals';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { createApiKey } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { accounts } from '@tocsin/db/users/table';
import { createEgress } from '@tocsin/egress/create-egress';
import type { LookupAll } from '@tocsin/egress/dns/name-resolver';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics } from '@tocsin/runtime/metrics';
import type TestAgent from 'supertest/lib/agent.js';
import { createApp } from '../app.ts';
import type { ApiContext } from '../context.ts';
import { HeavyReads } from '../http/heavy-reads.ts';
import { authSecret } from '../identity/auth-options.ts';
import type { Identity, IdentityOptions } from '../identity/create-identity.ts';
import type { OidcSettings } from '../identity/identify-person.ts';
import { hashToken } from '@tocsin/core/secrets/tokens';
import { LiveStreams } from '../live-stream/live-streams.ts';
import type { StreamLimits } from '../live-stream/stream-limits.ts';
import { createTriggerShares } from '../monitors/trigger.ts';
import type { ApiSettings } from '../settings.ts';
import { validatedAgent } from './validated-agent.ts';

export const ORIGIN = 'http://localhost:3000';
/** `OPERATOR_API_KEY`. */
export const OPERATOR_KEY = 'operator-key-of-the-tests-0123456789';

const SETTINGS: ApiSettings = {
  defaultRegion: 'default',
  regions: null,
  retentionDays: 90,
  rateLimitPerMinute: 0,
  trustProxy: false,
  publicUrl: ORIGIN,
  agentUrl: ORIGIN,
  hstsIncludeSubDomains: false,
  operatorKeyHash: hashToken(OPERATOR_KEY),
  dashboardDir: null,
};

const QUOTAS = {
  monitors: 50_000,
  channels: 1_000,
  maintenanceWindows: 1_000,
  regions: 20,
  checksPerMinute: 0,
};

/** An account with a key of each kind. */
interface TestAccount {
  readonly id: string;
  readonly slug: string;
  readonly key: string;
  readonly readKey: string;
}

/** A listening api with its own database. */
export interface TestApi {
  readonly context: ApiContext;
  readonly database: OpenDatabase;
  readonly streams: LiveStreams;
  readonly databaseUrl: string;
  readonly port: number;
  /** Signs the cookies of sessions. */
  readonly sessionSecret: string;
  readonly account: TestAccount;
  readonly other: TestAccount;
  /** Every `schedules.enqueue`. */
  readonly enqueued: { monitorId: string; regions: readonly string[] }[];
  /**
   * Sends requests with a key, which defaults to the account's. Null sends no key. All exchanges are validated against the OpenAPI
   * document.
   */
  as(key?: string | null): TestAgent;
  /** @param sources see `Actor` */
  newKey(
    scopes: string,
    expiresAt?: Date | null,
    sources?: string[] | null,
  ): Promise<{ id: string; key: string }>;
  close(): Promise<void>;
}

type Overrides = Partial<Omit<ApiContext, 'settings' | 'producers'>> & {
  settings?: Partial<ApiSettings>;
  producers?: Partial<ApiContext['producers']>;
  limitSignIn?: boolean;
  /** The clock of the limit on failed sign-ins. */
  now?: () => number;
  oidc?: OidcSettings;
  secretsKey?: Buffer;
  streamLimits?: Partial<StreamLimits>;
};

/** @param override replaces parts of the context. Without a queue, triggers fail */
export async function openTestApi(override: Overrides = {}): Promise<TestApi> {
  const testDatabase = await createTestDatabase();
  const databaseUrl = testDatabase.url;
  const database = openDatabase({
    url: databaseUrl,
    poolSize: 10,
    applicationName: 'api test',
    onIdleError: () => undefined,
  });
  const [account, other] = [await newAccount(database), await newAccount(database)];
  const enqueued: { monitorId: string; regions: readonly string[] }[] = [];
  const {
    limitSignIn = false,
    oidc = null,
    secretsKey = randomBytes(32),
    streamLimits = {},
    now = () => performance.now(),
    producers = {},
    shutdown = new AbortController().signal,
    lateRegions = () => Promise.resolve(new Map()),
    ...parts
  } = override;
  const settings = { ...SETTINGS, ...override.settings };
  const logger = override.logger ?? createSilentLogger();
  const { db = database.db, metrics = createMetrics(), heavyReads = new HeavyReads() } = override;
  const sessionSecret = authSecret([secretsKey]);
  const identity = lateIdentity({
    db,
    secret: sessionSecret,
    publicUrl: settings.publicUrl,
    limitSignIn,
    oidc,
    logger,
    now,
  });
  const limits = { pollMs: 25, ...streamLimits };
  const streams = new LiveStreams({ db, identity, heavyReads, lateRegions, metrics, logger, limits });
  const context: ApiContext = {
    db: database.db,
    secrets: new SecretBox([secretsKey]),
    quotas: QUOTAS,
    identity,
    heavyReads,
    streams,
    triggered: createTriggerShares(shutdown),
    producers: {
      addTrigger: () => Promise.reject(new Error('no queue')),
      addExtraChecks: () => Promise.resolve(),
      addStatusChanges: () => Promise.resolve(),
      addDeliveries: () => Promise.resolve(),
      ...producers,
    },
    egress: createEgress({ allowCidrs: [], lookup: lookupLocally, checkUrlLookupMs: 600_000 }),
    regionLoads: { read: () => Promise.resolve(new Map()) },
    lateRegions,
    schedules: { enqueue: (monitorId, regions) => void enqueued.push({ monitorId, regions }) },
    lastUsed: { note: () => undefined },
    logger,
    metrics,
    ready: { postgres: () => database.ping() },
    shutdown,
    ...parts,
    settings,
  };
  const server = createServer(createApp(context));
  // Only clients close connections. Otherwise, the server could close one just as a client reuses it.
  server.keepAliveTimeout = 0;
  const port = await listen(server);
  return {
    context,
    database,
    streams,
    databaseUrl,
    port,
    sessionSecret,
    account,
    other,
    enqueued,
    as: (key = account.key) => agent(port, key),
    newKey: async (scopes, expiresAt = null, sources = null) => {
      const fields = { name: 'test', scopes: scopes as ApiKey['scopes'], expiresAt, sources };
      const { apiKey, key } = await createApiKey(database.db, systemActor(account.id), fields);
      return { id: apiKey.id, key };
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await streams.stop();
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** The same for all tests of a file. */
export async function useTestApi(override?: Overrides): Promise<TestApi> {
  const api = await openTestApi(override);
  afterAll(() => api.close());
  return api;
}

/** Resolves only `localhost`, and queries no name server. */
const lookupLocally: LookupAll = (hostname, options, callback) => {
  if (/^localhost\.?$/i.test(hostname)) dns.lookup(hostname, options, callback);
  else
    setImmediate(callback, Object.assign(new Error(`no address of ${hostname}`), { code: 'ENOTFOUND' }), []);
};

/** better-auth is a fifth of what a test file would load, so it is loaded with the first request that needs it. */
function lateIdentity(options: IdentityOptions): Identity {
  let loading: Promise<Identity> | undefined;
  const load = (): Promise<Identity> => {
    loading ??= import('../identity/create-identity.ts').then(({ createIdentity }) =>
      createIdentity(options),
    );
    return loading;
  };
  return {
    hasSingleSignOn: options.oidc !== null,
    handle: async (request) => (await load()).handle(request),
    find: async (req) => (await load()).find(req),
    isSignedIn: async (req) => (await load()).isSignedIn(req),
    signIn: async (req, email, password) => (await load()).signIn(req, email, password),
    hashPassword: async (password) => (await load()).hashPassword(password),
  };
}

async function newAccount({ db }: OpenDatabase): Promise<TestAccount> {
  const id = randomUUID();
  const slug = `s-${id}`;
  await db.insert(accounts).values({ id, name: 'Test', slug });
  const { key } = await createApiKey(db, systemActor(id), { name: 'both' });
  const { key: readKey } = await createApiKey(db, systemActor(id), { name: 'read', scopes: 'read' });
  return { id, slug, key, readKey };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  return address.port;
}

function agent(port: number, key: string | null): TestAgent {
  const agent = validatedAgent(`http://127.0.0.1:${port}`);
  return key === null ? agent : agent.set('Authorization', `Bearer ${key}`);
}
