import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@tocsin/runtime/logger';
import type { DesiredItem } from '../desired/desired-set.ts';
import type { Problem } from '../desired/problem.ts';
import { KubernetesError } from '../kubernetes/client.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import type { KubernetesObject, Resource, ResourceStatus } from '../kubernetes/objects.ts';
import { nextConditions, type Outcome } from './conditions.ts';
import { idKey } from './set-writer.ts';
import type { KnownMonitor } from './statuses.ts';

const MAX_CONCURRENT_WRITES = 8;
const TOO_MANY_REQUESTS = 429;
/** The API server refuses writes for some seconds after its start. A write that it always refuses must not be repeated too often. */
const REFUSED_MS = 5_000;

interface Report {
  readonly problems: ReadonlyMap<DesiredItem, Problem>;
  readonly ids: ReadonlyMap<string, string>;
  /** Null: every item without a problem is synced. Otherwise why Tocsin does not have those that it did not have before. */
  readonly failure: Outcome['failure'];
}

type Key = Pick<Resource, 'kind'> & { readonly namespace: string; readonly name: string };
interface Waiting {
  readonly key: Key;
  readonly status: ResourceStatus;
  readonly notBefore: number;
}
interface Warning {
  readonly owner: KubernetesObject;
  readonly problem: Problem;
}

/** Writes to the cluster what happened to its resources: their status, and a warning for each new problem. */
export class Reporter {
  readonly #cluster: Pick<Cluster, 'get' | 'patchStatus' | 'warn'>;
  readonly #logger: Logger;
  /** Statuses to write, by resource. A later status of the same resource is merged into an earlier one. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #refusedMs: number;
  #warnings: Warning[] = [];
  /** By namespace, and then by the id of the monitor. */
  readonly #resources = new Map<string, ReadonlyMap<string, Key>>();
  /** By namespace: the objects that have been warned about, with the messages. */
  readonly #warned = new Map<string, ReadonlySet<string>>();

  constructor(
    cluster: Pick<Cluster, 'get' | 'patchStatus' | 'warn'>,
    logger: Logger,
    refusedMs = REFUSED_MS,
  ) {
    this.#refusedMs = refusedMs;
    this.#cluster = cluster;
    this.#logger = logger;
  }

  /** Takes a changed status of a monitor. */
  setStatus(id: string, { status, statusSince }: Pick<KnownMonitor, 'status' | 'statusSince'>): void {
    for (const resources of this.#resources.values()) {
      const key = resources.get(id);
      if (key !== undefined) this.#add(key, { status, lastTransitionTime: statusSince });
    }
  }

  /** Takes the outcome of a sync for all items of a namespace. */
  report(
    namespace: string,
    items: readonly DesiredItem[],
    { problems, ids, failure }: Report,
    statusOf: (id: string) => KnownMonitor | undefined,
  ): void {
    this.#warn(namespace, problems);
    const now = new Date();
    const resources = new Map<string, Key>();
    for (const item of items) {
      const { url } = item;
      const current = this.#resourceOf(item.owner);
      if (current === undefined) continue;
      const { kind, metadata, status: { conditions = [] } = {} } = current;
      const { generation, name } = metadata;
      const isSynced = conditions.some(
        ({ type, status, observedGeneration }) =>
          type === 'Synced' && status === 'True' && observedGeneration === generation,
      );
      const outcome = { problem: problems.get(item) ?? null, failure: isSynced ? null : failure };
      const id = ids.get(idKey(item));
      const key = { kind, namespace, name };
      if (id !== undefined) resources.set(id, key);
      const known = id === undefined ? undefined : statusOf(id);
      this.#add(key, {
        conditions: nextConditions(conditions, outcome, generation, now),
        ...(id !== undefined && { id }),
        ...(kind === 'Monitor' && url !== null && { url }),
        ...(known !== undefined && { status: known.status, lastTransitionTime: known.statusSince }),
      });
    }
    this.#resources.set(namespace, resources);
    if (items.length === 0) this.#resources.delete(namespace);
  }

  /** Writes what is waiting. A write that may succeed later waits for the next call. @throws the error of the connection */
  async flush(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const due = [...this.#waiting.values()].filter(({ notBefore }) => notBefore <= now);
    const warnings = this.#warnings;
    this.#warnings = [];
    const writes = [
      ...due.map(
        ({ key, status }) =>
          async () =>
            this.#write(key, status, signal),
      ),
      ...warnings.map((warning) => async () => this.#addEvent(warning, signal)),
    ].values();
    const work = async (): Promise<void> => {
      for (const write of writes) {
        if (signal.aborted) return;
        await write();
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT_WRITES }, work));
  }

  async #write(key: Key, status: ResourceStatus, signal: AbortSignal): Promise<void> {
    const text = textOf(key);
    this.#waiting.delete(text);
    const resource = this.#cluster.get(key.kind, key.namespace, key.name);
    if (
      resource === undefined ||
      isDeepStrictEqual({ ...resource.status, ...status }, { ...resource.status })
    )
      return;
    await this.#cluster.patchStatus(resource, status, signal).catch((error: unknown) => {
      const delay = error instanceof KubernetesError ? this.#refusedMs : 0;
      const notBefore = performance.now() + delay;
      this.#waiting.set(text, { key, status: { ...status, ...this.#waiting.get(text)?.status }, notBefore });
      this.#failed('Could not write the status of a resource', key, error);
    });
  }

  async #addEvent(warning: Warning, signal: AbortSignal): Promise<void> {
    const { owner, problem } = warning;
    await this.#cluster.warn(owner, problem.reason, problem.message, signal).catch((error: unknown) => {
      if (mayRetry(error)) this.#warnings.push(warning);
      const { namespace, name } = owner.metadata;
      this.#failed('Could not add an Event', { kind: owner.kind, namespace, name }, error);
    });
  }

  /** Logs the refusal of a single write. @throws any other error, because without the API server all writes would fail */
  #failed(message: string, context: object, error: unknown): void {
    if (!(error instanceof KubernetesError)) throw error;
    // A resource that is gone or was created anew needs no status.
    if (![404, 409].includes(error.status)) this.#logger.warn(message, { ...context, error });
  }

  #add(key: Key, status: ResourceStatus): void {
    const text = textOf(key);
    const before = this.#waiting.get(text);
    this.#waiting.set(text, {
      key,
      status: { ...before?.status, ...status },
      notBefore: before?.notBefore ?? 0,
    });
  }

  /** Warns once about each new problem of an object, even if it concerns many hosts. */
  #warn(namespace: string, problems: Report['problems']): void {
    const before = this.#warned.get(namespace) ?? new Set();
    const warned = new Set<string>();
    for (const [{ owner }, problem] of problems) {
      const text = `${owner.metadata.uid} ${problem.message}`;
      const isKnown = before.has(text) || warned.has(text);
      warned.add(text);
      // After a restart, the resource already says so.
      const { conditions = [] } = this.#resourceOf(owner)?.status ?? {};
      if (!isKnown && !conditions.some(({ message }) => message === problem.message))
        this.#warnings.push({ owner, problem });
    }
    if (warned.size > 0) this.#warned.set(namespace, warned);
    else this.#warned.delete(namespace);
  }

  /** The current version of a Monitor or Channel. Undefined for other kinds. */
  #resourceOf({ kind, metadata: { namespace, name } }: KubernetesObject): Resource | undefined {
    return kind === 'Monitor' || kind === 'Channel' ? this.#cluster.get(kind, namespace, name) : undefined;
  }
}

function mayRetry(error: unknown): boolean {
  return !(error instanceof KubernetesError) || error.status >= 500 || error.status === TOO_MANY_REQUESTS;
}

const textOf = ({ kind, namespace, name }: Key): string => `${kind}/${namespace}/${name}`;
