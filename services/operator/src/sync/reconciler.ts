import { createHash } from 'node:crypto';
import type { Logger } from '@tocsin/runtime/logger';
import { buildDesiredSet, type DesiredItem, type DesiredSet } from '../desired/desired-set.ts';
import { Problem } from '../desired/problem.ts';
import { KubernetesError } from '../kubernetes/client.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import type { MonitorSpec } from '../resources/spec.ts';
import type { Outcome } from './conditions.ts';
import { Reporter } from './reporter.ts';
import { idKey, type SetWriter } from './set-writer.ts';
import { Statuses } from './statuses.ts';
import { type TocsinClient, TocsinError } from './tocsin-client.ts';
import { WorkQueue } from './work-queue.ts';

/** Changes of a namespace within this time are applied together. */
const DEBOUNCE_MS = 150;
const MAX_CONCURRENT_SYNCS = 4;
const BACKOFF_MS = { first: 1_000, last: 15_000 } as const;
/** A retry cannot help until someone changes the settings or quotas of Tocsin. */
const REFUSED_BACKOFF_MS = 60_000;
/** Tocsin may accept a refused resource later, for example once its region exists. */
const REFUSAL_MS = 5 * 60_000;
const SECRETS_FRESH_MS = 60_000;

export interface ReconcilerOptions {
  readonly cluster: Cluster;
  readonly tocsin: TocsinClient;
  readonly writer: SetWriter;
  readonly clusterName: string;
  readonly namespaces: readonly string[] | null;
  readonly defaults: MonitorSpec;
  readonly logger: Logger;
}

interface NamespaceState {
  /** Digest of what was applied last, or null if that must be compared with Tocsin. */
  applied: string | null;
  ids: ReadonlyMap<string, string>;
  failures: number;
  refused: Map<string, { readonly digest: string; readonly problem: Problem; readonly until: number }>;
}

/** Makes the monitors and channels of Tocsin equal to the resources of the cluster, one namespace at a time. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #queue = new WorkQueue();
  readonly #states = new Map<string, NamespaceState>();
  readonly #statuses: Statuses;
  readonly #reporter: Reporter;
  readonly #prefix: string;
  #isStarted = false;
  /** Failures to read from Tocsin, and when to try again. */
  #reading = { failures: 0, notBefore: 0, isListed: false };

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#prefix = `k8s/${options.clusterName}/`;
    this.#reporter = new Reporter(options.cluster, options.logger);
    this.#statuses = new Statuses({
      tocsin: options.tocsin,
      selector: `tocsin.dev/cluster=${options.clusterName}`,
      onStatus: (id, monitor) => this.#reporter.setStatus(id, monitor),
      onDrift: (source) => this.#verify(this.#namespaceOf(source)),
    });
  }

  /** Namespaces that wait for a sync, or are being synced. */
  get pending(): number {
    return this.#queue.pending(Date.now());
  }

  /** Syncs a namespace soon, or with null each one. */
  mark(namespace: string | null): void {
    if (this.#isStarted) this.#enqueue(namespace === null ? this.#options.cluster.namespaces() : [namespace]);
  }

  #enqueue(namespaces: Iterable<string>): void {
    const at = Date.now() + DEBOUNCE_MS;
    for (const each of namespaces) if (this.#isWatched(each)) this.#queue.add(each, at);
  }

  #isWatched(namespace: string): boolean {
    const { namespaces } = this.#options;
    return namespaces === null || namespaces.includes(namespace);
  }

  /** Starts the syncs that are due, once the cluster is known. */
  async work(signal: AbortSignal): Promise<void> {
    const { cluster } = this.#options;
    if (!this.#isStarted && cluster.missing.length > 0) return;
    if (!this.#isStarted) this.#enqueue(cluster.namespaces());
    this.#isStarted = true;
    for (;;) {
      const namespace = this.#queue.take(Date.now(), MAX_CONCURRENT_SYNCS);
      if (namespace === null) return;
      void this.#run(namespace, signal);
    }
  }

  /** Follows the statuses of monitors. While Tocsin is unavailable, it waits longer and longer. */
  async follow(signal: AbortSignal): Promise<void> {
    const { failures, notBefore, isListed } = this.#reading;
    if (!this.#isStarted || performance.now() < notBefore) return;
    try {
      if (isListed) await this.#statuses.poll(signal);
      else this.#enqueue(await this.namespacesInTocsin(signal));
      this.#reading = { failures: 0, notBefore: 0, isListed: true };
    } catch (error) {
      const delay = backoffOf(error, failures + 1);
      this.#reading = { failures: failures + 1, notBefore: performance.now() + delay, isListed };
      throw error;
    }
  }

  /** Writes to the cluster what has happened. @throws the error of the connection */
  async report(signal: AbortSignal): Promise<void> {
    await this.#reporter.flush(signal);
  }

  /** Lists the namespaces with monitors or channels in Tocsin. @throws TocsinError */
  async namespacesInTocsin(signal: AbortSignal): Promise<Set<string>> {
    await this.#statuses.poll(signal);
    const { channels } = await this.#options.tocsin('GET /api/cli/channels', { signal });
    const sources = [...this.#statuses.sources(), ...channels.flatMap(({ source }) => source ?? [])];
    const found = sources.flatMap((source) => this.#namespaceOf(source) ?? []);
    return new Set(found.filter((namespace) => this.#isWatched(namespace)));
  }

  /** Builds what the objects of a namespace declare, and omits nothing. */
  async desired(namespace: string, signal: AbortSignal): Promise<DesiredSet> {
    const { cluster, clusterName, defaults } = this.#options;
    return buildDesiredSet(cluster, namespace, {
      clusterName,
      defaults,
      now: Date.now(),
      readSecret: async (name) => {
        try {
          return await cluster.readSecret(namespace, name, signal);
        } catch (error) {
          if (!(error instanceof KubernetesError && error.status === 403)) throw error;
          throw new Problem('SecretForbidden', `the operator may not read Secret ${name}: ${error.message}`);
        }
      },
    });
  }

  sourceOf(namespace: string, isRetained = false): string {
    return `${this.#prefix}${namespace}${isRetained ? '/retained' : ''}`;
  }

  /** Returns the namespace of a source. Null if the source belongs to something else. */
  #namespaceOf(source: string): string | null {
    if (!source.startsWith(this.#prefix)) return null;
    const [namespace = '', ...rest] = source.slice(this.#prefix.length).split('/');
    return rest.length === 0 || rest[0] === 'retained' ? namespace : null;
  }

  #verify(namespace: string | null): void {
    if (namespace === null || !this.#isStarted) return;
    this.#stateOf(namespace).applied = null;
    this.mark(namespace);
  }

  #stateOf(namespace: string): NamespaceState {
    const state = this.#states.get(namespace) ?? {
      applied: null,
      ids: new Map(),
      failures: 0,
      refused: new Map(),
    };
    this.#states.set(namespace, state);
    return state;
  }

  async #run(namespace: string, signal: AbortSignal): Promise<void> {
    const state = this.#stateOf(namespace);
    try {
      await this.#sync(namespace, state, signal);
      state.failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      state.failures += 1;
      this.#options.logger.warn('Could not sync a namespace. Trying again.', { namespace, error });
      this.#queue.add(namespace, Date.now() + backoffOf(error, state.failures));
    } finally {
      this.#queue.done(namespace);
    }
  }

  async #sync(namespace: string, state: NamespaceState, signal: AbortSignal): Promise<void> {
    // Otherwise objects that have not been read would look like deleted ones.
    if (!this.#options.cluster.isReadable(namespace)) return;
    const { items, nextAt, usesSecrets } = await this.desired(namespace, signal);
    const now = Date.now();
    const problems = new Map<DesiredItem, Problem>();
    for (const item of items) {
      const refused = state.refused.get(idKey(item));
      if (item.entry instanceof Problem) problems.set(item, item.entry);
      else if (refused !== undefined && refused.until > now && refused.digest === digestOf(item.entry))
        problems.set(item, refused.problem);
    }
    const next = [
      nextAt,
      usesSecrets ? now + SECRETS_FRESH_MS : null,
      problems.size > 0 ? now + REFUSAL_MS : null,
    ];
    const at = Math.min(...next.map((each) => each ?? Infinity));
    if (at < Infinity) this.#queue.add(namespace, at);
    const accepted = items.filter((item) => !problems.has(item));
    const report = (failure: Outcome['failure']): void =>
      this.#reporter.report(namespace, items, { problems, ids: state.ids, failure }, (id) =>
        this.#statuses.get(id),
      );
    try {
      if (!(await this.#apply(namespace, state, accepted, problems, signal))) return;
    } catch (error) {
      if (error instanceof TocsinError && !signal.aborted) report(failureOf(error));
      throw error;
    }
    for (const [key, id] of state.ids) if (key.startsWith('monitors ')) this.#statuses.expect(id);
    report(null);
    if (items.length === 0) this.#states.delete(namespace);
  }

  /** Returns false if Tocsin refused items, which the next sync leaves out. */
  async #apply(
    namespace: string,
    state: NamespaceState,
    accepted: readonly DesiredItem[],
    problems: ReadonlyMap<DesiredItem, Problem>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const digest = digestOf([
      accepted.map(({ entry, isRetained }) => [entry, isRetained]),
      [...problems.keys()].map(idKey),
    ]);
    if (state.applied === digest) return true;
    const planFirst = state.applied === null;
    const ids = new Map<string, string>();
    // Retained items leave their source first, because what remains in it without an object is deleted.
    for (const isRetained of [true, false]) {
      const items = accepted.filter((item) => item.isRetained === isRetained);
      if (isRetained && items.length === 0) continue;
      const outcome = await this.#options.writer.write({
        source: this.sourceOf(namespace, isRetained),
        otherSource: this.sourceOf(namespace, !isRetained),
        items,
        kept: isRetained ? null : new Set([...problems.keys()].map(idKey)),
        planFirst,
        signal,
      });
      if ('refusals' in outcome) {
        for (const [item, problem] of outcome.refusals)
          state.refused.set(idKey(item), {
            digest: digestOf(item.entry),
            problem,
            until: Date.now() + REFUSAL_MS,
          });
        this.#queue.add(namespace, Date.now());
        return false;
      }
      for (const [key, id] of outcome.ids) ids.set(key, id);
    }
    state.ids = ids;
    state.applied = digest;
    const current = new Set(accepted.map(idKey));
    for (const key of state.refused.keys()) if (current.has(key)) state.refused.delete(key);
    return true;
  }
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64');
}

function backoffOf(error: unknown, failures: number): number {
  const isRefused = error instanceof TocsinError && !error.isTemporary;
  const backoff = BACKOFF_MS.first * 2 ** Math.min(failures - 1, 10);
  const ms = isRefused ? REFUSED_BACKOFF_MS : Math.min(BACKOFF_MS.last, backoff);
  const least = error instanceof TocsinError ? error.retryAfterMs : 0;
  return Math.max(least, ms * (0.75 + Math.random() / 4));
}

/** Turns the code of a problem, such as `quota-exceeded`, into the reason of a condition. */
function failureOf(error: TocsinError): { readonly reason: string; readonly message: string } {
  if (error.isTemporary || error.code === null)
    return { reason: 'TocsinUnavailable', message: `${error.message} The operator tries again.` };
  const reason = error.code.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return { reason, message: error.message };
}
