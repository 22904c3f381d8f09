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
const DECLARING = ['Monitor', 'Channel', 'Ingress', 'HTTPRoute', 'Service'] as const;

/** Reads the objects of the cluster from which monitors are made, and writes what the operator reports. */
export class Cluster implements ClusterView {
  readonly #client: KubernetesClient;
  readonly #informers: readonly Informer<Kind>[];

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
            onChange: (object: KubernetesObject) => onChange(affectedBy(object)),
            onSynced: () => onChange(namespace),
          }),
      ),
    );
  }

  /** Follows the objects until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers.map(async (informer) => informer.run(signal)));
  }

  /** Names the kinds that have not been listed. A single namespace that may not be read does not count. */
  get missing(): readonly string[] {
    return this.#informers.flatMap(({ isSynced, failure, options: { kind, namespace } }) => {
      if (isSynced || (namespace !== null && failure?.status === 403)) return [];
      return `${kind} (${failure?.message ?? 'not listed yet'})`;
    });
  }

  /** False if objects of the namespace may be unknown. */
  isReadable(namespace: string): boolean {
    return this.#informers.every(
      ({ isSynced, options }) => isSynced || (options.namespace !== null && options.namespace !== namespace),
    );
  }

  get<K extends Kind>(kind: K, namespace: string, name: string): ObjectOf[K] | undefined {
    return this.#of(kind)
      .find((informer) => informer.get(namespace, name) !== undefined)
      ?.get(namespace, name);
  }

  list<K extends Kind>(kind: K, namespace: string): ObjectOf[K][] {
    return this.#of(kind).flatMap((informer) => Array.from(informer.list(namespace)));
  }

  /** Namespaces with an object that may declare a monitor or channel. */
  namespaces(): Set<string> {
    return new Set(
      DECLARING.flatMap((kind) => this.#of(kind).flatMap((informer) => Array.from(informer.namespaces()))),
    );
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

  /** Merges fields into the status of a resource. @throws KubernetesError, with the status 404 or 409 if another resource has its name */
  async patchStatus(
    { kind, metadata: { namespace, name, uid } }: Resource,
    status: ResourceStatus,
    signal?: AbortSignal,
  ): Promise<void> {
    const path = `${pathOf(KINDS[kind], namespace, name)}/status`;
    const body = { metadata: { uid }, status };
    const patched = await this.#client.request({ method: 'PATCH', path, body, signal });
    // Without this, the next comparison would use the old status.
    this.#of<Kind>(kind)
      .find((informer) => informer.get(namespace, name) !== undefined)
      ?.put(patched);
  }

  /** Adds a warning to the Events of an object. @throws KubernetesError */
  async warn(
    { apiVersion, kind, metadata: { namespace, name, uid } }: KubernetesObject,
    reason: string,
    message: string,
    signal?: AbortSignal,
  ): Promise<void> {
    const now = new Date().toISOString();
    const body = {
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
    };
    const path = pathOf({ apiVersion: 'v1', plural: 'events' }, namespace);
    await this.#client.request({ method: 'POST', path, body, signal });
  }

  #of<K extends Kind>(kind: K): Informer<K>[] {
    return this.#informers.filter(({ options }) => options.kind === kind) as unknown as Informer<K>[];
  }
}

/** The namespace whose monitors an object may change, or null for any. */
function affectedBy({ kind, metadata }: KubernetesObject): string | null {
  if (KINDS[kind].affects === 'all') return null;
  return kind === 'Namespace' ? metadata.name : metadata.namespace;
}
