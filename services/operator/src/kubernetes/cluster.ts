import type { Logger } from '@tocsin/runtime/logger';
import { type KubernetesClient, KubernetesError } from './client.ts';
import { Informer } from './informer.ts';
import {
  type Kind,
  KINDS,
  type KubernetesObject,
  type ObjectOf,
  pathOf,
  type Resource,
  type ResourceStatus,
} from './objects.ts';

/** The data of a Secret, decoded. */
export type SecretData = Readonly<Record<string, string>>;

/** Reads objects of the cluster. */
export interface ClusterView {
  get<K extends Kind>(kind: K, namespace: string, name: string): ObjectOf[K] | undefined;
  list<K extends Kind>(kind: K, namespace: string): ObjectOf[K][];
}

const MAX_MESSAGE_CHARACTERS = 1_000;

/** The objects of the cluster that monitors are made of, and the writes of the operator. */
export class Cluster implements ClusterView {
  readonly #client: KubernetesClient;
  readonly #informers: readonly Informer<Kind>[];
  readonly #stopped = new AbortController();
  #runs: readonly Promise<void>[] = [];

  /**
   * @param namespaces null for all. Otherwise objects without a namespace are not read
   * @param onChange called with the namespace whose monitors may have changed, or null for any
   */
  constructor(
    client: KubernetesClient,
    namespaces: readonly string[] | null,
    onChange: (namespace: string | null) => void,
    logger: Logger,
  ) {
    this.#client = client;
    const kinds = (Object.keys(KINDS) as Kind[]).filter(
      (kind) => namespaces === null || KINDS[kind].isNamespaced,
    );
    this.#informers = kinds.flatMap((kind) =>
      (namespaces ?? [null]).map(
        (namespace) =>
          new Informer({
            client,
            kind,
            namespace,
            logger,
            onChange: (object: KubernetesObject) => {
              const { name, namespace: own } = object.metadata;
              if (KINDS[kind].affects === 'all') onChange(null);
              else onChange(kind === 'Namespace' ? name : own);
            },
          }),
      ),
    );
  }

  start(): void {
    this.#runs = this.#informers.map((informer) => informer.run(this.#stopped.signal));
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(this.#runs);
  }

  /** True once every list was complete. */
  get isSynced(): boolean {
    return this.#informers.every(({ isSynced }) => isSynced);
  }

  get<K extends Kind>(kind: K, namespace: string, name: string): ObjectOf[K] | undefined {
    for (const informer of this.#of(kind)) {
      const object = informer.get(namespace, name);
      if (object !== undefined) return object;
    }
    return undefined;
  }

  list<K extends Kind>(kind: K, namespace: string): ObjectOf[K][] {
    return this.#of(kind).flatMap((informer) => [...informer.list(namespace)]);
  }

  /** Namespaces with an object that may declare a monitor or channel. */
  namespaces(): Set<string> {
    const kinds = ['Monitor', 'Channel', 'Ingress', 'HTTPRoute', 'Service'] as const;
    return new Set(kinds.flatMap((kind) => this.#of(kind).flatMap((informer) => [...informer.namespaces()])));
  }

  count(kind: Kind): number {
    return this.#of(kind).reduce((sum, { size }) => sum + size, 0);
  }

  /** Returns null if there is no such Secret. @throws KubernetesError */
  async readSecret(namespace: string, name: string, signal?: AbortSignal): Promise<SecretData | null> {
    const path = pathOf({ apiVersion: 'v1', plural: 'secrets' }, namespace, name);
    try {
      const { data = {} } = await this.#client.request<{ data?: SecretData }>({ path, signal });
      return Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
      );
    } catch (error) {
      if (error instanceof KubernetesError && error.status === 404) return null;
      throw error;
    }
  }

  /** Merges fields into the status of a resource. Does nothing if the resource is gone. */
  async patchStatus(
    { kind, metadata: { namespace, name } }: Pick<Resource, 'kind' | 'metadata'>,
    status: ResourceStatus,
    signal?: AbortSignal,
  ): Promise<void> {
    const path = `${pathOf(KINDS[kind], namespace, name)}/status`;
    try {
      const patched = await this.#client.request({ method: 'PATCH', path, body: { status }, signal });
      // Without this, the next comparison would use the old status.
      if (this.get(kind, namespace, name) !== undefined)
        this.#of<Kind>(kind)
          .find((informer) => informer.get(namespace, name) !== undefined)
          ?.put(patched);
    } catch (error) {
      if (!(error instanceof KubernetesError && error.status === 404)) throw error;
    }
  }

  /** Adds a warning to the Events of an object. */
  async warn(
    { apiVersion, kind, metadata }: KubernetesObject,
    reason: string,
    message: string,
  ): Promise<void> {
    const { namespace, name, uid } = metadata;
    const now = new Date().toISOString();
    await this.#client.request({
      method: 'POST',
      path: pathOf({ apiVersion: 'v1', plural: 'events' }, namespace),
      body: {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { namespace, generateName: `${name.slice(0, 200)}.` },
        involvedObject: { apiVersion, kind, namespace, name, uid },
        type: 'Warning',
        reason,
        message: message.slice(0, MAX_MESSAGE_CHARACTERS),
        source: { component: 'tocsin-operator' },
        count: 1,
        firstTimestamp: now,
        lastTimestamp: now,
      },
    });
  }

  #of<K extends Kind>(kind: K): Informer<K>[] {
    return this.#informers.filter((informer) => informer.kind === kind) as unknown as Informer<K>[];
  }
}
