import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@tocsin/runtime/logger';
import { type KubernetesClient, KubernetesError } from './client.ts';
import { type Kind, KINDS, type Metadata, type ObjectOf, pathOf, toObject } from './objects.ts';

const PAGE_SIZE = 500;
const BACKOFF_MS = { first: 500, last: 10_000 } as const;
/** A watch that ends sooner counts as a failure, so that the API server is not asked again at once. */
const STABLE_MS = 5_000;
/** How often to look for an API that the cluster does not have. */
const ABSENT_MS = 60_000;
/** The API server is busy, but still has the history that a watch continues from. */
const BUSY = new Set([429, 503]);

interface List {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly unknown[];
}
type Objects<K extends Kind> = Map<string, Map<string, ObjectOf[K]>>;

export interface InformerOptions<K extends Kind> {
  readonly client: Pick<KubernetesClient, 'request' | 'watch'>;
  readonly kind: K;
  /** Null for the whole cluster. */
  readonly namespace: string | null;
  /** Called when an object appears, disappears or changes, except for a change of its status. */
  readonly onChange: (object: ObjectOf[K]) => void;
  /** Called after the first list. */
  readonly onSynced: () => void;
  readonly logger: Logger;
}

/** Keeps the objects of a kind by a list, and then by a watch that continues where the list ended. */
export class Informer<K extends Kind> {
  readonly options: InformerOptions<K>;
  readonly #path: string;
  /** By namespace, then by name. */
  #objects: Objects<K> = new Map();
  /** The version that the watch continues from. Null: the objects must be listed again. */
  #version: string | null = null;
  #isSynced = false;
  #failure: KubernetesError | null = null;

  constructor(options: InformerOptions<K>) {
    this.options = options;
    this.#path = pathOf(KINDS[options.kind], options.namespace);
  }

  /** True once all objects have been listed. They may be outdated while the API server is unavailable. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** The last error response of the API server, or null. */
  get failure(): KubernetesError | null {
    return this.#failure;
  }

  get(namespace: string, name: string): ObjectOf[K] | undefined {
    return this.#objects.get(namespace)?.get(name);
  }

  list(namespace: string): Iterable<ObjectOf[K]> {
    return this.#objects.get(namespace)?.values() ?? [];
  }

  namespaces(): Iterable<string> {
    return this.#objects.keys();
  }

  get size(): number {
    return [...this.#objects.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Takes an object from the watch, or one that the API server returned for a write. The newer version counts. */
  put(received: unknown): void {
    const object = toObject(this.options.kind, received);
    const { namespace, name, uid, resourceVersion } = object.metadata;
    const byName = childOf(this.#objects, namespace);
    const before = byName.get(name);
    if (before?.metadata.uid === uid && BigInt(resourceVersion) < BigInt(before.metadata.resourceVersion))
      return;
    byName.set(name, object);
    this.#compare(before, object);
  }

  /** Follows the objects until the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      let startedAt = Infinity;
      let delay = 0;
      try {
        if (this.#version === null) await this.#list(signal);
        startedAt = performance.now();
        await this.#watch(this.#version ?? '', signal);
      } catch (error) {
        if (!signal.aborted) delay = this.#delayAfter(error);
      }
      failures = performance.now() - startedAt >= STABLE_MS ? 0 : failures + 1;
      const backoff = Math.min(BACKOFF_MS.last, BACKOFF_MS.first * 2 ** Math.min(failures - 1, 10));
      if (failures > 0) delay = Math.max(delay, backoff * (0.5 + Math.random() / 2));
      await wait(delay, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Returns the minimum delay before the next attempt, in milliseconds. */
  #delayAfter(error: unknown): number {
    const { kind, logger } = this.options;
    this.#failure = error instanceof KubernetesError ? error : null;
    const status = this.#failure?.status ?? null;
    // Changes may be missing, for example because the history was compacted.
    if (status !== null && !BUSY.has(status)) this.#version = null;
    if (status === 404 && KINDS[kind].isOptional && this.#objects.size === 0) {
      this.#setSynced();
      return ABSENT_MS;
    }
    if (status !== 410) logger.warn('Could not follow the objects of a kind. Trying again.', { kind, error });
    return 0;
  }

  #setSynced(): void {
    const isFirst = !this.#isSynced;
    this.#isSynced = true;
    if (isFirst) this.options.onSynced();
  }

  async #list(signal: AbortSignal): Promise<void> {
    const objects: Objects<K> = new Map();
    let version = '';
    let next: string | undefined;
    do {
      const query = new URLSearchParams({
        limit: String(PAGE_SIZE),
        ...(next !== undefined && { continue: next }),
      });
      const path = `${this.#path}?${query.toString()}`;
      const { metadata, items } = await this.options.client.request<List>({ path, signal });
      for (const item of items) {
        const object = toObject(this.options.kind, item);
        childOf(objects, object.metadata.namespace).set(object.metadata.name, object);
      }
      version = metadata.resourceVersion;
      next = metadata.continue === '' ? undefined : metadata.continue;
    } while (next !== undefined);
    // The old objects are replaced only now, because a list that fails halfway must not look like deletions.
    const before = this.#objects;
    this.#objects = objects;
    this.#version = version;
    this.#failure = null;
    for (const [namespace, byName] of objects)
      for (const [name, object] of byName) this.#compare(before.get(namespace)?.get(name), object);
    for (const [namespace, byName] of before)
      for (const [name, object] of byName)
        if (this.get(namespace, name) === undefined) this.options.onChange(object);
    this.#setSynced();
  }

  async #watch(version: string, signal: AbortSignal): Promise<void> {
    const { client, kind } = this.options;
    await client.watch(
      this.#path,
      version,
      (type, received) => {
        const { metadata } = received as { readonly metadata: Metadata };
        this.#version = metadata.resourceVersion;
        if (type === 'DELETED') this.#remove(toObject(kind, received));
        else if (type !== 'BOOKMARK') this.put(received);
      },
      signal,
    );
  }

  #remove(object: ObjectOf[K]): void {
    const { namespace, name } = object.metadata;
    const byName = this.#objects.get(namespace);
    if (byName?.delete(name) !== true) return;
    if (byName.size === 0) this.#objects.delete(namespace);
    this.options.onChange(object);
  }

  #compare(before: ObjectOf[K] | undefined, after: ObjectOf[K]): void {
    if (before === undefined || !isDeepStrictEqual(declared(before), declared(after)))
      this.options.onChange(after);
  }
}

/** Returns the parts of an object that people write, so that a changed status causes no sync. */
function declared({ metadata: { uid, annotations }, spec }: ObjectOf[Kind]): unknown {
  return { uid, annotations, spec };
}

function childOf<Value>(map: Map<string, Map<string, Value>>, key: string): Map<string, Value> {
  const child = map.get(key) ?? new Map<string, Value>();
  map.set(key, child);
  return child;
}
