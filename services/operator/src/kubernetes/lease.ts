import type { LeaderLease } from '@tocsin/runtime/leader';
import type { Logger } from '@tocsin/runtime/logger';
import { type KubernetesClient, KubernetesError } from './client.ts';
import { pathOf } from './objects.ts';

/** The defaults of client-go. */
const LEASE_MS = 15_000;
const RENEW_WITHIN_MS = 10_000;
export const LEASE_RETRY_MS = 2_000;

interface LeaseObject {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseTransitions?: number;
    readonly acquireTime?: string;
  };
}

export interface LeaseOptions {
  readonly client: KubernetesClient;
  readonly namespace: string;
  readonly name: string;
  /** Unique among the processes that may lead. */
  readonly identity: string;
  readonly logger: Logger;
}

/** Elects a leader with a Lease of the cluster. @returns a function that resolves to null while another process leads */
export function createLeaseElection(
  options: LeaseOptions,
): (signal: AbortSignal) => Promise<LeaderLease | null> {
  const { client, namespace, name, identity } = options;
  const lists = pathOf({ apiVersion: 'coordination.k8s.io/v1', plural: 'leases' }, namespace);
  const path = `${lists}/${name}`;
  /** When this process first saw a version, by its own clock, because the holder's clock may be wrong. */
  let seen = { version: '', at: 0 };

  async function read(signal?: AbortSignal): Promise<LeaseObject | null> {
    try {
      return await client.request<LeaseObject>({ path, signal });
    } catch (error) {
      if (isStatus(error, 404)) return null;
      throw error;
    }
  }

  async function write(
    current: LeaseObject | null,
    holder: string,
    signal?: AbortSignal,
  ): Promise<LeaseObject> {
    const now = new Date().toISOString().replace('Z', '000Z');
    const { holderIdentity, leaseTransitions = 0, acquireTime = now } = current?.spec ?? {};
    const isSame = holderIdentity === holder;
    const { resourceVersion } = current?.metadata ?? {};
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name, ...(resourceVersion !== undefined && { resourceVersion }) },
      spec: {
        holderIdentity: holder,
        leaseDurationSeconds: LEASE_MS / 1_000,
        acquireTime: isSame ? acquireTime : now,
        renewTime: now,
        leaseTransitions: isSame ? leaseTransitions : leaseTransitions + 1,
      },
    };
    const request = current === null ? { method: 'POST', path: lists } : { method: 'PUT', path };
    return client.request<LeaseObject>({ ...(request as { method: 'PUT'; path: string }), body, signal });
  }

  return async (signal) => {
    const current = await read(signal);
    const { holderIdentity = '' } = current?.spec ?? {};
    const version = current?.metadata.resourceVersion ?? '';
    if (version !== seen.version) seen = { version, at: performance.now() };
    const isHeld = holderIdentity !== '' && holderIdentity !== identity;
    if (isHeld && performance.now() - seen.at < LEASE_MS) return null;
    const startedAt = performance.now();
    try {
      return new HeldLease(options, { read, write }, await write(current, identity, signal), startedAt);
    } catch (error) {
      if (isStatus(error, 409)) return null;
      throw error;
    }
  };
}

interface LeaseStore {
  read(): Promise<LeaseObject | null>;
  write(current: LeaseObject, holder: string): Promise<LeaseObject>;
}

class HeldLease implements LeaderLease {
  readonly #options: LeaseOptions;
  readonly #store: LeaseStore;
  readonly #timer: NodeJS.Timeout;
  #current: LeaseObject;
  /** Start of the last successful renewal. */
  #renewedAt: number;
  #isLost = false;
  #onLost: () => void = () => undefined;

  constructor(options: LeaseOptions, store: LeaseStore, current: LeaseObject, renewedAt: number) {
    this.#options = options;
    this.#store = store;
    this.#current = current;
    this.#renewedAt = renewedAt;
    this.#timer = setInterval(() => void this.#renew(), LEASE_RETRY_MS);
  }

  isAlive(): boolean {
    return !this.#isLost && performance.now() - this.#renewedAt < RENEW_WITHIN_MS;
  }

  onLost(callback: () => void): void {
    this.#onLost = callback;
    if (this.#isLost) callback();
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    if (!this.isAlive()) return;
    this.#isLost = true;
    // Another process can lead at once, instead of when the lease ends.
    await this.#store.write(this.#current, '').catch(() => undefined);
  }

  async #renew(): Promise<void> {
    if (!this.isAlive()) return this.#lose();
    const startedAt = performance.now();
    const { identity, logger } = this.#options;
    try {
      this.#current = await this.#store.write(this.#current, identity);
      this.#renewedAt = startedAt;
    } catch (error) {
      logger.debug('Could not renew the lease', { error });
      if (!isStatus(error, 409)) return;
      // The response to a renewal may have been lost. Otherwise another process leads.
      const current = await this.#store.read().catch(() => null);
      if (current === null) return;
      if (current.spec?.holderIdentity === identity) this.#current = current;
      else this.#lose();
    }
  }

  #lose(): void {
    clearInterval(this.#timer);
    if (this.#isLost) return;
    this.#isLost = true;
    this.#onLost();
  }
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof KubernetesError && error.status === status;
}
