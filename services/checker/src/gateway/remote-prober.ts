import { randomBytes } from 'node:crypto';
import type { AgentProbe, AgentResult } from '@tocsin/contracts/agents/protocol';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { ProbeAbortedError, type ProbeTarget, ProbeThrottledError } from '@tocsin/probe/probe';
import { FairShares } from '@tocsin/runtime/fair-shares';
import {
  AgentsLostError,
  AgentsOutdatedError,
  type CheckIdentity,
  type CheckProber,
  type CheckProbeResult,
} from '../checks/check-prober.ts';
import { type AgentConnection, RESPONSE_GRACE_MS } from './agent-connection.ts';
import { toProbeResult } from './agent-result.ts';
import { understandsProbe } from './agent-version.ts';
import { sealTicket } from './tickets.ts';

/** The probe may have crashed its agent, so only one other agent runs it. */
const MAX_ATTEMPTS = 2;

/** Runs probes on the agents of a region, which accounts share evenly. An agent gets no more probes than it has credits. */
export class RemoteProber implements CheckProber {
  readonly #secrets: SecretBox;
  readonly #agents = new Set<AgentConnection>();
  readonly #shares = new FairShares(0, { maxWaiting: Infinity });
  readonly #idPrefix = randomBytes(12).toString('base64url');
  #probes = 0;
  #isClosed = false;

  constructor(secrets: SecretBox) {
    this.#secrets = secrets;
  }

  get agents(): number {
    return this.#agents.size;
  }

  get hasSilentAgent(): boolean {
    return [...this.#agents].some(({ isSilent }) => isSilent);
  }

  get inFlight(): number {
    return this.#shares.used;
  }

  /** Maximum concurrent probes of all agents. */
  get credits(): number {
    let credits = 0;
    for (const agent of this.#agents) credits += agent.credits;
    return credits;
  }

  add(agent: AgentConnection): void {
    this.#agents.add(agent);
    this.resize();
  }

  /** Without agents, all probes end as at shutdown. */
  remove(agent: AgentConnection): void {
    this.#agents.delete(agent);
    if (this.#agents.size === 0) this.close();
    this.resize();
  }

  /** Call after the credits of an agent changed. */
  resize(): void {
    let capacity = 0;
    // Probes beyond the credits of one agent must not reduce the capacity of the others.
    for (const { credits, inFlight } of this.#agents) capacity += Math.max(credits, inFlight);
    this.#shares.setCapacity(capacity);
  }

  async probe(target: ProbeTarget, check?: CheckIdentity): Promise<CheckProbeResult> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const result = await this.#attempt(target, check);
      if (result !== null) return result;
      if (this.#isClosed) throw new ProbeAbortedError('no agent is left');
    }
    throw new AgentsLostError('two agents were lost');
  }

  close(): void {
    this.#isClosed = true;
    this.#shares.refuseWaiting();
    for (const agent of this.#agents) agent.abandonProbes();
  }

  /** Resolves to null if the agent was lost. */
  async #attempt(target: ProbeTarget, check?: CheckIdentity): Promise<CheckProbeResult | null> {
    const { owner, signal } = target;
    let throttle: (() => void) | undefined;
    const release = this.#isClosed
      ? null
      : await this.#shares.acquire(owner.account, {
          ...(signal !== undefined && { signal }),
          // Proof of the network, triggers and trial checks must not wait for all scheduled checks of the account.
          line: check?.source ?? 'unrecorded',
          onRevoke: () => {
            throttle?.();
            return true;
          },
        });
    const id = `${this.#idPrefix}-${(this.#probes += 1).toString(36)}`;
    const message = this.#messageOf(id, target, check);
    const agent = this.#mostFree(message);
    if (this.#isClosed || this.#agents.size === 0) {
      release?.();
      throw new ProbeAbortedError('no agent is left');
    }
    if (release === null) throw new ProbeThrottledError('other accounts need the capacity');
    if (agent === undefined) {
      release();
      throw new AgentsOutdatedError('no connected agent knows all fields of the probe');
    }
    target.onBegin?.();
    try {
      const result = await new Promise<AgentResult | null>((settle, reject) => {
        const end = (): void => {
          agent.cancel(id);
          reject(new ProbeThrottledError('other accounts need the capacity'));
        };
        throttle = end;
        signal?.addEventListener('abort', end);
        const dueAt = performance.now() + target.timeoutMs + RESPONSE_GRACE_MS;
        agent.run(message, { dueAt, settle, throttle: end });
      });
      if (result === null) return null;
      const confirm = check === undefined ? {} : { confirm: () => agent.confirm(id) };
      return { ...toProbeResult(result), ...confirm };
    } finally {
      if (throttle !== undefined) signal?.removeEventListener('abort', throttle);
      if (agent.inFlight >= agent.credits) this.resize();
      release();
    }
  }

  #messageOf(id: string, target: ProbeTarget, check?: CheckIdentity): AgentProbe {
    const { url, ownUrl, method, headers, body, assertions, isTrial, owner } = target;
    const connection = connectionOf(target);
    const ticket = check === undefined ? null : sealTicket(this.#secrets, { ...check, issuedAt: Date.now() });
    const timeoutMs = Math.ceil(target.timeoutMs);
    const request = {
      url,
      ownUrl,
      method,
      headers,
      body,
      assertions,
      isTrial,
      ...(connection && { connection }),
    };
    return { id, ticket, ...request, timeoutMs, account: owner.account, resource: owner.resource };
  }

  /** Returns the agent with the most free credits that understands the probe. */
  #mostFree(probe: AgentProbe): AgentConnection | undefined {
    let chosen: AgentConnection | undefined;
    let most = -Infinity;
    for (const agent of this.#agents) {
      const free = agent.credits - agent.inFlight;
      if (free <= most || !understandsProbe(agent.agent?.version ?? '', probe)) continue;
      most = free;
      chosen = agent;
    }
    return chosen;
  }
}

/** Returns the fields of the connection that differ from their defaults, or null. */
function connectionOf(target: ProbeTarget): AgentProbe['connection'] | null {
  const { followRedirects = true, ipFamily = null, connectTo = null, tls = null } = target;
  if (followRedirects && ipFamily === null && connectTo === null && tls === null) return null;
  return { followRedirects, ipFamily, connectTo, tls };
}
