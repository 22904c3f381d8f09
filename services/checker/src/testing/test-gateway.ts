import { randomBytes, randomUUID } from 'node:crypto';
import { AGENT_TOKEN_PREFIX } from '@tocsin/contracts/limits';
import { hashToken } from '@tocsin/core/secrets/tokens';
import { renewAgentConnections } from '@tocsin/db/agents/agent-connections';
import { findAgentToken } from '@tocsin/db/agents/agent-tokens';
import { until } from '@tocsin/embedded/testing/until';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { createMetrics, type Metrics } from '@tocsin/runtime/metrics';
import type { CheckContext } from '../checks/run-check.ts';
import type { TrialChecks } from '../checks/trial-check.ts';
import type { AgentRegionOptions } from '../gateway/agent-region.ts';
import { Gateway, type GatewayOptions } from '../gateway/gateway.ts';
import { GATEWAY_VERSION, TestAgent } from './test-agent.ts';
import { checkContext, type CheckerDatabase, type ContextChanges, REGION } from './test-checker.ts';
import { testNetworkProof } from './test-network-proof.ts';

type StartedWorkers = Parameters<AgentRegionOptions['startWorkers']>[0];

/** Creates a token of a region, which is shared unless it has an account. */
export async function createToken(
  database: CheckerDatabase,
  region = REGION,
  accountId: string | null = null,
): Promise<string> {
  const token = AGENT_TOKEN_PREFIX + randomBytes(24).toString('hex');
  const owner = accountId === null ? 'null' : `'${accountId}'`;
  const id = randomUUID();
  await database.query(
    `insert into agent_regions (code, account_id) values ('${region}', ${owner}) on conflict do nothing;
     insert into agent_tokens (id, region, name, hash) values ('${id}', '${region}', 'test', '${hashToken(token)}')`,
  );
  return token;
}

/** A gateway whose workers run only the checks that a test starts. */
export class TestGateway {
  readonly gateway: Gateway;
  readonly registry: Metrics;
  /** Regions whose workers run, with the options that they were started with. */
  readonly running: ReadonlyMap<string, StartedWorkers>;

  readonly #database: CheckerDatabase;

  private constructor(
    database: CheckerDatabase,
    fields: Pick<TestGateway, 'gateway' | 'registry' | 'running'>,
  ) {
    this.#database = database;
    this.gateway = fields.gateway;
    this.registry = fields.registry;
    this.running = fields.running;
  }

  static async start(
    database: CheckerDatabase,
    changes: ContextChanges = {},
    options: Partial<GatewayOptions> = {},
  ): Promise<TestGateway> {
    const registry = createMetrics();
    const gatewayId = randomUUID();
    const running = new Map<string, StartedWorkers>();
    const { secrets } = database;
    const trialChecks: TrialChecks = { take: async () => null, record: async () => undefined };
    const gateway = await Gateway.start({
      port: 0,
      version: GATEWAY_VERSION,
      secrets,
      context: checkContext(database, changes),
      trialChecks,
      fastConcurrency: 500,
      createNetworkProof: (prober, signal) => testNetworkProof({ prober, signal }),
      startWorkers: (started) => {
        running.set(started.region, started);
        return {
          region: started.region,
          checkProgress: async () => undefined,
          halt: () => undefined,
          resize: (concurrency, slowLimit) =>
            void running.set(started.region, { ...started, concurrency, slowLimit }),
          close: async () => void running.delete(started.region),
        };
      },
      findToken: (hash) => findAgentToken(database.db, hash),
      renewConnections: (connections) => renewAgentConnections(database.db, gatewayId, connections),
      registry,
      logger: createSilentLogger(),
      ...options,
    });
    return new TestGateway(database, { gateway, registry, running });
  }

  /** Waits until the workers of a region run. @returns the context of their checks */
  async contextOf(region = REGION): Promise<CheckContext> {
    return (await until('the workers of the region', () => this.running.get(region))).context;
  }

  async connect(options: Parameters<typeof TestAgent.connect>[2] = {}, token?: string): Promise<TestAgent> {
    return TestAgent.connect(this.gateway.port, token ?? (await createToken(this.#database)), options);
  }

  async value(name: string): Promise<Record<string, number>> {
    const { values } = (await this.registry.getSingleMetric(name)?.get()) ?? { values: [] };
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels['region']), value]));
  }
}
