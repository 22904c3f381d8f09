import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@tocsin/runtime/logger';
import type { DesiredItem } from '../desired/desired-set.ts';
import type { Problem } from '../desired/problem.ts';
import { KubernetesError } from '../kubernetes/client.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import type { Kind, Resource, ResourceStatus } from '../kubernetes/objects.ts';
import { nextConditions, type Outcome } from './conditions.ts';
import { idKey } from './set-writer.ts';
import type { KnownMonitor, Statuses } from './statuses.ts';

const MAX_CONCURRENT_WRITES = 8;

interface Report {
  readonly problems: ReadonlyMap<DesiredItem, Problem>;
  readonly ids: ReadonlyMap<string, string>;
  readonly failure: Outcome['failure'];
}

interface ResourceKey {
  readonly kind: Resource['kind'];
  readonly namespace: string;
  readonly name: string;
}

/** Writes to the cluster what happened to its resources: their status, and a warning for each new problem. */
export class Reporter {
  readonly #cluster: Cluster;
  readonly #logger: Logger;
  /** Statuses to write, by resource. A later status of the same resource is merged into an earlier one. */
  readonly #waiting = new Map<string, { readonly key: ResourceKey; readonly status: ResourceStatus }>();
  /** By the id of the monitor. */
  readonly #resources = new Map<string, ResourceKey>();
  /** Messages of warnings, by the object that they are about. */
  readonly #warned = new Map<string, string>();

  constructor(cluster: Cluster, logger: Logger) {
    this.#cluster = cluster;
    this.#logger = logger;
  }

  /** Takes a changed status of a monitor. */
  setStatus(id: string, { status, statusSince }: Pick<KnownMonitor, 'status' | 'statusSince'>): void {
    const key = this.#resources.get(id);
    if (key !== undefined) this.#add(key, { status, lastTransitionTime: statusSince });
  }

  /** Takes the outcome of a sync. Without a failure, it is that of every item; with one, that of items which Tocsin does not have yet. */
  report(items: readonly DesiredItem[], { problems, ids, failure }: Report, statuses: Statuses): void {
    const now = new Date();
    for (const item of items) {
      const { owner, url } = item;
      const problem = problems.get(item) ?? null;
      this.#warn(item, problem);
      if (owner.kind !== 'Monitor' && owner.kind !== 'Channel') continue;
      const { kind, metadata } = owner;
      const { generation = 0, namespace, name } = metadata;
      const current = this.#cluster.get(kind as Kind, namespace, name) as Resource | undefined;
      const conditions = current?.status?.conditions ?? [];
      const isSynced = conditions.some(
        ({ type, status, observedGeneration }) =>
          type === 'Synced' && status === 'True' && observedGeneration === generation,
      );
      const id = ids.get(idKey(item));
      const key = { kind, namespace, name };
      if (id !== undefined) this.#resources.set(id, key);
      const known = id === undefined ? undefined : statuses.get(id);
      this.#add(key, {
        conditions: nextConditions(
          conditions,
          { problem, failure: isSynced ? null : failure },
          generation,
          now,
        ),
        ...(id !== undefined && { id }),
        ...(kind === 'Monitor' && url !== null && { url }),
        ...(known !== undefined && { status: known.status, lastTransitionTime: known.statusSince }),
      });
    }
  }

  /** Writes the waiting statuses that differ from those of the resources. Failed writes wait for the next call. @throws the error of the connection */
  async flush(signal: AbortSignal): Promise<void> {
    const writes = [...this.#waiting.values()].values();
    const work = async (): Promise<void> => {
      for (const { key, status } of writes) {
        if (signal.aborted) return;
        await this.#write(key, status, signal);
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT_WRITES }, work));
  }

  async #write(key: ResourceKey, status: ResourceStatus, signal: AbortSignal): Promise<void> {
    const text = textOf(key);
    this.#waiting.delete(text);
    const resource = this.#cluster.get(key.kind as Kind, key.namespace, key.name) as Resource | undefined;
    if (
      resource === undefined ||
      isDeepStrictEqual({ ...resource.status, ...status }, { ...resource.status })
    )
      return;
    try {
      await this.#cluster.patchStatus(resource, status, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#waiting.set(text, { key, status: { ...status, ...this.#waiting.get(text)?.status } });
      // Without the API server, the other writes would fail too.
      if (!(error instanceof KubernetesError)) throw error;
      this.#logger.warn('Could not write the status of a resource. Trying again.', { ...key, error });
    }
  }

  #add(key: ResourceKey, status: ResourceStatus): void {
    const text = textOf(key);
    this.#waiting.set(text, { key, status: { ...this.#waiting.get(text)?.status, ...status } });
  }

  /** Adds an Event, once for each new problem. */
  #warn({ owner, externalId }: DesiredItem, problem: Problem | null): void {
    if (problem === null) {
      this.#warned.delete(externalId);
      return;
    }
    if (this.#warned.get(externalId) === problem.message) return;
    const isNew = !isReported(owner, problem);
    this.#warned.set(externalId, problem.message);
    if (!isNew) return;
    this.#cluster.warn(owner, problem.reason, problem.message).catch((error: unknown) => {
      this.#logger.warn('Could not add an Event', { kind: owner.kind, name: owner.metadata.name, error });
    });
  }
}

/** True if the resource already says so, from before a restart. */
function isReported(owner: DesiredItem['owner'], { message }: Problem): boolean {
  if (owner.kind !== 'Monitor' && owner.kind !== 'Channel') return false;
  return owner.status?.conditions?.some((condition) => condition.message === message) === true;
}

const textOf = ({ kind, namespace, name }: ResourceKey): string => `${kind}/${namespace}/${name}`;
