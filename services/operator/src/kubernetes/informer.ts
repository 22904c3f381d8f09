import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@tocsin/runtime/logger';
import { type KubernetesClient, KubernetesError } from './client.ts';
import { type Kind, KINDS, type Metadata, type ObjectOf, pathOf, toObject } from './objects.ts';

const PAGE_SIZE = 500;
const BACKOFF_MS = { first: 500, last: 10_000 } as const;
/** How often to look for an API that the cluster does not have. */
const ABSENT_MS = 60_000;

interface List {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly unknown[];
}

export interface InformerOptions<K extends Kind> {
  readonly client: KubernetesClient;
  readonly kind: K;
  /** Null for the whole cluster. */
  readonly namespace: string | null;
  /** Called when an object appears, disappears or changes, except for a change of its status. */
  readonly onChange: (object: ObjectOf[K]) => void;
  readonly logger: Logger;
}

/** Keeps the objects of a kind by a list, and then by a watch that continues where the list ended. */
export class Informer<K extends Kind> {
  readonly #options: InformerOptions<K>;
  readonly #path: string;
  /** By namespace, then by name. */
  #objects = new Map<string, Map<string, ObjectOf[K]>>();
  /** The version that the watch continues from. Null: the objects must be listed again. */
  #version: string | null = null;
  #isSynced = false;

  constructor(options: InformerOptions<K>) {
    this.#options = options;
    this.#path = pathOf(KINDS[options.kind], options.namespace);
  }

  /** True once all objects have been listed. They may be outdated while the API server is unavailable. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  get kind(): K {
    return this.#options.kind;
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

  /** Takes an object that the API server returned for a write, before the watch has it. */
  put(received: unknown): void {
    this.#put(toObject(this.#options.kind, received));
  }

  /** Follows the objects until the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        if (this.#version === null) await this.#list(signal);
        failures = 0;
        await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) return;
        const delay = this.#delayAfter(error, (failures += 1));
        await wait(delay, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Returns the delay before the next attempt, in milliseconds. */
  #delayAfter(error: unknown, failures: number): number {
    const { kind, logger } = this.#options;
    const status = error instanceof KubernetesError ? error.status : null;
    // After a refused watch, changes may be missing: its history may have been compacted.
    if (status !== null) this.#version = null;
    if (status === 410) return 0;
    if (status === 404 && KINDS[kind].isOptional && this.#objects.size === 0) {
      this.#isSynced = true;
      return ABSENT_MS;
    }
    const backoff = Math.min(BACKOFF_MS.last, BACKOFF_MS.first * 2 ** Math.min(failures, 10));
    logger.warn('Could not follow the objects of a kind. Trying again.', { kind, error });
    return backoff * (0.5 + Math.random() / 2);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const objects = new Map<string, Map<string, ObjectOf[K]>>();
    let version = '';
    let next: string | undefined;
    do {
      const query = new URLSearchParams({
        limit: String(PAGE_SIZE),
        ...(next !== undefined && { continue: next }),
      });
      const path = `${this.#path}?${query.toString()}`;
      const { metadata, items } = await this.#options.client.request<List>({ path, signal });
      for (const item of items) {
        const object = toObject(this.#options.kind, item);
        childOf(objects, object.metadata.namespace).set(object.metadata.name, object);
      }
      version = metadata.resourceVersion;
      next = metadata.continue === '' ? undefined : metadata.continue;
    } while (next !== undefined);
    // The old objects are replaced only now, because a list that fails halfway must not look like deletions.
    const before = this.#objects;
    this.#objects = objects;
    this.#version = version;
    this.#isSynced = true;
    for (const [namespace, byName] of objects)
      for (const [name, object] of byName) this.#compare(before.get(namespace)?.get(name), object);
    for (const [namespace, byName] of before)
      for (const [name, object] of byName)
        if (this.get(namespace, name) === undefined) this.#options.onChange(object);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    let failure: KubernetesError | undefined;
    const onEvent = (type: string, received: unknown): void => {
      if (type === 'ERROR') {
        const { code = 500, message = 'the watch failed' } = received as { code?: number; message?: string };
        failure = new KubernetesError(code, message);
        stop.abort();
        return;
      }
      const { metadata } = received as { readonly metadata: Metadata };
      this.#version = metadata.resourceVersion;
      if (type === 'BOOKMARK') return;
      const object = toObject(this.#options.kind, received);
      if (type === 'DELETED') this.#remove(object);
      else this.#put(object);
    };
    try {
      const signals = AbortSignal.any([signal, stop.signal]);
      await this.#options.client.watch(this.#path, this.#version ?? '', onEvent, signals);
    } catch (error) {
      throw failure ?? error;
    }
    if (failure !== undefined) throw failure;
  }

  #put(object: ObjectOf[K]): void {
    const { namespace, name } = object.metadata;
    const byName = childOf(this.#objects, namespace);
    const before = byName.get(name);
    byName.set(name, object);
    this.#compare(before, object);
  }

  #remove(object: ObjectOf[K]): void {
    const { namespace, name } = object.metadata;
    const byName = this.#objects.get(namespace);
    if (byName?.delete(name) !== true) return;
    if (byName.size === 0) this.#objects.delete(namespace);
    this.#options.onChange(object);
  }

  #compare(before: ObjectOf[K] | undefined, after: ObjectOf[K]): void {
    if (before === undefined || !isDeepStrictEqual(declared(before), declared(after)))
      this.#options.onChange(after);
  }
}

/** What people write in an object. */
function declared({ metadata: { uid, annotations }, spec }: ObjectOf[Kind]): unknown {
  return { uid, annotations, spec };
}

function childOf<Value>(map: Map<string, Map<string, Value>>, key: string): Map<string, Value> {
  const child = map.get(key) ?? new Map<string, Value>();
  map.set(key, child);
  return child;
}
