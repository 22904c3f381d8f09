import type { LeaderLease } from '@tocsin/runtime/leader';
import type { Logger } from '@tocsin/runtime/logger';
import { createLoop } from '@tocsin/runtime/loop';
import { type KubernetesClient, KubernetesError } from './client.ts';
import { pathOf } from './objects.ts';

/** The defaults of client-go. */
const LEASE_MS = 15_000;
const RENEW_WITHIN_MS = 10_000;
export const LEASE_RETRY_MS = 2_000;
const REQUEST_MS = 5_000;
const API = 'coordination.k8s.io/v1';

interface LeaseObject {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseTransitions?: number;
    readonly acquireTime?: string;
  };
}

export interface LeaseOptions {
  readonly client: Pick<KubernetesClient, 'request'>;
  readonly namespace: string;
  readonly name: string;
  /** Unique among the processes that may lead. */
  readonly identity: string;
  readonly logger: Logger;
}

/** Elects a leader with a Lease of the cluster. @returns a function that resolves to null while another process leads */
export function createLeaseElection({
  client,
  namespace,
  name,
  identity,
  logger,
}: LeaseOptions): (signal: AbortSignal) => Promise<LeaderLease | null> {
  const leases = pathOf({ apiVersion: API, plural: 'leases' }, namespace);
  const path = `${leases}/${name}`;
  /** When this process first saw a version, by its own clock, because the holder's clock may be wrong. */
  let seen = { version: '', at: 0 };

  async function send(request: object, signal: AbortSignal): Promise<LeaseObject> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]);
    return client.request<LeaseObject>({ path, ...request, signal: limited });
  }

  async function read(signal: AbortSignal): Promise<LeaseObject | null> {
    return send({}, signal).catch((error: unknown) => {
      if (isStatus(error, 404)) return null;
      throw error;
    });
  }

  async function write(
    current: LeaseObject | null,
    holder: string,
    signal: AbortSignal,
  ): Promise<LeaseObject> {
    const now = new Date().toISOString().replace('Z', '000Z');
    const { holderIdentity, leaseTransitions = 0, acquireTime = now } = current?.spec ?? {};
    const isSame = holderIdentity === holder;
    const body = {
      apiVersion: API,
      kind: 'Lease',
      // The API server refuses the write if another process has written in the meantime.
      metadata: { ...current?.metadata, namespace, name },
      spec: {
        holderIdentity: holder,
        leaseDurationSeconds: LEASE_MS / 1_000,
        acquireTime: isSame ? acquireTime : now,
        renewTime: now,
        leaseTransitions: isSame ? leaseTransitions : leaseTransitions + 1,
      },
    };
    return send(current === null ? { method: 'POST', path: leases, body } : { method: 'PUT', body }, signal);
  }

  function hold(first: LeaseObject, startedAt: number): LeaderLease {
    let current = first;
    /** Start of the last successful renewal. */
    let renewedAt = startedAt;
    let isLost = false;
    const isAlive = (): boolean => !isLost && performance.now() - renewedAt < RENEW_WITHIN_MS;
    const renewing = createLoop({
      name: 'renewing the lease',
      everyMs: LEASE_RETRY_MS,
      logger,
      work: async (signal) => {
        if (!isAlive()) return;
        const sentAt = performance.now();
        try {
          current = await write(current, identity, signal);
          renewedAt = sentAt;
        } catch (error) {
          if (!isStatus(error, 409)) throw error;
          // The response to a renewal may have been lost. Otherwise another process leads.
          const found = await read(signal);
          if (found?.spec?.holderIdentity === identity) current = found;
          else isLost = true;
        }
      },
    });
    return {
      isAlive,
      release: async () => {
        await renewing.stop();
        if (!isAlive()) return;
        isLost = true;
        // Another process can lead at once, instead of when the lease ends.
        await write(current, '', AbortSignal.timeout(REQUEST_MS)).catch(() => undefined);
      },
    };
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
      return hold(await write(current, identity, signal), startedAt);
    } catch (error) {
      if (isStatus(error, 409)) return null;
      throw error;
    }
  };
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof KubernetesError && error.status === status;
}
