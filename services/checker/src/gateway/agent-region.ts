import type { AgentResult } from '@tocsin/contracts/agents/protocol';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import type { AgentTokenIdentity } from '@tocsin/db/agents/agent-tokens';
import type { Logger } from '@tocsin/runtime/logger';
import type { CheckProber } from '../checks/check-prober.ts';
import type { CheckContext } from '../checks/run-check.ts';
import type { TrialChecks } from '../checks/trial-check.ts';
import type { NetworkProof } from '../regions/network-proof.ts';
import type { RegionWorkers, RegionWorkersOptions } from '../regions/region-workers.ts';
import type { AgentConnection } from './agent-connection.ts';
import { recordLateResult } from './late-results.ts';
import { RemoteProber } from './remote-prober.ts';

export interface AgentRegionOptions {
  readonly secrets: SecretBox;
  readonly context: Omit<CheckContext, 'prober' | 'networkProof'>;
  readonly trialChecks: TrialChecks;
  readonly createNetworkProof: (prober: CheckProber, signal: AbortSignal) => NetworkProof;
  readonly startWorkers: (
    options: Pick<
      RegionWorkersOptions,
      'region' | 'concurrency' | 'slowLimit' | 'agents' | 'context' | 'trialChecks'
    >,
  ) => RegionWorkers;
  /** Credits reserved for fast checks, at most half of all credits. */
  readonly fastConcurrency: number;
  readonly logger: Logger;
}

/**
 * An agent region, from its first connected agent until the last one disconnects. Takes jobs only while its agents can run probes, so that
 * other gateways can take the jobs otherwise.
 */
export class AgentRegion {
  readonly prober: RemoteProber;
  readonly #options: AgentRegionOptions;
  readonly #region: string;
  readonly #trialChecks: TrialChecks;
  readonly #context: CheckContext;
  readonly #ended = new AbortController();
  #workers: RegionWorkers | null = null;
  #isClosing = false;
  #isHalted: boolean;
  /** Serializes starting and closing workers. */
  #changing: Promise<void>;
  #isUpdatePlanned = false;

  /** @param before resolves when the earlier object of this region is closed */
  constructor(
    { region, accountId }: AgentTokenIdentity,
    options: AgentRegionOptions,
    isHalted: boolean,
    before: Promise<void>,
  ) {
    const { secrets, context, trialChecks, createNetworkProof } = options;
    this.#region = region;
    this.#options = options;
    this.#isHalted = isHalted;
    this.#changing = before;
    this.prober = new RemoteProber(secrets);
    const networkProof = createNetworkProof(this.prober, this.#ended.signal);
    this.#context = { ...context, prober: this.prober, networkProof };
    this.#trialChecks = trialChecks;
    if (accountId === null) return;
    // Agents of an account must not learn about monitors of others, whatever the database says.
    this.#context = { ...this.#context, targets: targetsOf(accountId, context.targets) };
    this.#trialChecks = { ...trialChecks, take: (id) => takeOf(accountId, trialChecks, id) };
  }

  add(agent: AgentConnection): void {
    this.prober.add(agent);
    void this.#update();
  }

  /** @returns false if no agent is left, so that the region must be closed */
  remove(agent: AgentConnection): boolean {
    this.prober.remove(agent);
    void this.#update();
    return this.prober.agents > 0;
  }

  noteCredits(): void {
    this.prober.resize();
    void this.#update();
  }

  recordLate(agent: AgentConnection, result: AgentResult): Promise<void> {
    const { secrets, logger } = this.#options;
    const { signal } = this.#ended;
    return recordLateResult({ context: this.#context, secrets, logger, signal }, agent, result);
  }

  /** Stops or resumes scheduled checks. */
  halt(isHalted: boolean): void {
    this.#isHalted = isHalted;
    this.#workers?.halt(isHalted);
  }

  async checkProgress(): Promise<void> {
    await this.#workers?.checkProgress();
  }

  /** Ends the running checks without results, so that their jobs return to the queue. */
  abort(): void {
    this.#ended.abort();
    this.prober.close();
  }

  /** Waits for running checks. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#update();
    await this.#context.networkProof.close();
  }

  #update(): Promise<void> {
    if (!this.#isUpdatePlanned) this.#changing = this.#updateAfter(this.#changing);
    return this.#changing;
  }

  async #updateAfter(before: Promise<void>): Promise<void> {
    this.#isUpdatePlanned = true;
    await before;
    this.#isUpdatePlanned = false;
    try {
      await this.#startOrClose();
    } catch (error) {
      const { logger } = this.#options;
      logger.error('Could not start or close the workers of an agent region', {
        region: this.#region,
        error,
      });
    }
  }

  async #startOrClose(): Promise<void> {
    const { fastConcurrency, startWorkers } = this.#options;
    const concurrency = this.#isClosing ? 0 : this.prober.credits;
    if (concurrency === 0) {
      await this.#workers?.close();
      this.#workers = null;
      return;
    }
    const slowLimit = concurrency - Math.min(fastConcurrency, Math.floor(concurrency / 2));
    if (this.#workers !== null) return this.#workers.resize(concurrency, slowLimit);
    this.#workers = startWorkers({
      region: this.#region,
      concurrency,
      slowLimit,
      agents: { since: Date.now(), hasSilent: () => this.prober.hasSilentAgent },
      context: this.#context,
      trialChecks: this.#trialChecks,
    });
    this.#workers.halt(this.#isHalted);
  }
}

function targetsOf(accountId: string, targets: CheckContext['targets']): CheckContext['targets'] {
  type Read = ReturnType<typeof targets.latest>;
  const own = async (reading: Read): Read => {
    const target = await reading;
    return target?.accountId === accountId ? target : null;
  };
  return {
    get: (...args) => own(targets.get(...args)),
    latest: (...args) => own(targets.latest(...args)),
    evict: (monitorId) => targets.evict(monitorId),
  };
}

async function takeOf(accountId: string, { take }: TrialChecks, id: string): ReturnType<TrialChecks['take']> {
  const check = await take(id);
  return check?.accountId === accountId ? check : null;
}
