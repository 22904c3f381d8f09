import { createHash } from 'node:crypto';
import { channelSetEntrySchema } from '@tocsin/contracts/channels/channel';
import type { FieldError } from '@tocsin/contracts/errors';
import { toFieldErrors } from '@tocsin/contracts/field-errors';
import { LIMITS } from '@tocsin/contracts/limits';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import type { ClusterView, SecretData } from '../kubernetes/cluster.ts';
import type { ChannelResource, KubernetesObject } from '../kubernetes/objects.ts';
import type { MonitorSpec, SecretKeyRef } from '../resources/spec.ts';
import { discover } from './discovery.ts';
import { Problem } from './problem.ts';
import { urlOfReference } from './urls.ts';

/** A monitor or channel that an object of the cluster declares. */
export interface DesiredItem {
  readonly field: 'monitors' | 'channels';
  readonly owner: KubernetesObject;
  readonly externalId: string;
  /** Null for a channel, whose URL may be a secret, and if it is unknown. */
  readonly url: string | null;
  readonly isRetained: boolean;
  /** An entry of a set, as it is sent, or why there is none. */
  readonly entry: object | Problem;
}

export interface DesiredSet {
  readonly items: readonly DesiredItem[];
  /** When the set may change without an event, in epoch milliseconds, or null. */
  readonly nextAt: number | null;
  readonly usesSecrets: boolean;
}

export interface DesiredSetOptions {
  readonly clusterName: string;
  /** Default fields of discovered monitors. */
  readonly defaults: MonitorSpec;
  /** Resolves to null if there is no such Secret. @throws Problem if it may not be read */
  readonly readSecret: (name: string) => Promise<SecretData | null>;
  readonly now: number;
}

type Read = (ref: SecretKeyRef, place: string) => Promise<string>;

/** Builds the monitors and channels that the objects of a namespace declare. @throws the error of `readSecret` other than a Problem */
export async function buildDesiredSet(
  cluster: ClusterView,
  namespace: string,
  { clusterName, defaults, readSecret, now }: DesiredSetOptions,
): Promise<DesiredSet> {
  const secrets = new Map<string, Promise<SecretData | null>>();
  const read: Read = async ({ name, key }, place) => {
    const reading = secrets.get(name) ?? readSecret(name);
    secrets.set(name, reading);
    const value = (await reading)?.[key];
    if (value !== undefined) return value;
    throw new Problem(
      'SecretNotFound',
      `${place}: Secret ${name} with the key ${key} does not exist in this namespace`,
    );
  };
  const labels = { 'tocsin.dev/cluster': clusterName, 'tocsin.dev/namespace': namespace };
  const prefix = `${clusterName}/${namespace}`;

  async function monitor(
    owner: KubernetesObject,
    id: string,
    spec: MonitorSpec | Problem,
  ): Promise<DesiredItem> {
    const externalId = boundedKey(`${prefix}/${id}`);
    const url = spec instanceof Problem ? spec : problemOf(() => urlOf(cluster, namespace, spec));
    return {
      field: 'monitors',
      owner,
      externalId,
      url: url instanceof Problem ? null : url,
      isRetained: !(spec instanceof Problem) && spec.deletionPolicy === 'Retain',
      entry:
        spec instanceof Problem || url instanceof Problem
          ? (url as Problem)
          : await caught(async () =>
              monitorEntry({ name: `${namespace}/${id}`, ...spec }, { externalId, url, labels }, read),
            ),
    };
  }

  const items: Promise<DesiredItem>[] = [];
  for (const owner of cluster.list('Monitor', namespace))
    items.push(monitor(owner, owner.metadata.name, owner.spec));
  const { found, nextAt } = discover(cluster, namespace, defaults, now);
  for (const { owner, host, spec } of found)
    items.push(monitor(owner, `${owner.kind.toLowerCase()}/${owner.metadata.name}/${host}`, spec));
  for (const owner of cluster.list('Channel', namespace)) items.push(channel(owner, prefix, read));
  return { items: await Promise.all(items), nextAt, usesSecrets: secrets.size > 0 };
}

function urlOf(cluster: ClusterView, namespace: string, { url, urlFrom }: MonitorSpec): string {
  if ((url === undefined) === (urlFrom === undefined))
    throw new Problem('Invalid', 'url: set either url or urlFrom');
  return urlFrom === undefined ? String(url) : urlOfReference(cluster, namespace, urlFrom);
}

async function monitorEntry(
  { urlFrom: _, deletionPolicy: _policy, headers: given, ...fields }: MonitorSpec,
  own: {
    readonly externalId: string;
    readonly url: string;
    readonly labels: Readonly<Record<string, string>>;
  },
  read: Read,
): Promise<object> {
  const headers = given === undefined ? null : await headersOf(given, read);
  const entry = { ...fields, ...own, headers, labels: { ...fields.labels, ...own.labels } };
  const { errors } = validateMonitor(monitorSetEntrySchema, entry);
  if (errors.length > 0) throw invalid(errors);
  return entry;
}

async function headersOf(given: unknown, read: Read): Promise<Record<string, string>> {
  // The headers of an annotation have not been validated by the API server.
  if (!Array.isArray(given))
    throw new Problem('Invalid', 'headers: must be a list of objects with a name and a value');
  const headers: Record<string, string> = {};
  for (const { name, value, valueFrom } of given as NonNullable<MonitorSpec['headers']>) {
    const ref = valueFrom?.secretKeyRef;
    if ((value === undefined) === (ref === undefined))
      throw new Problem('Invalid', `headers.${name}: set either value or valueFrom`);
    headers[name] = ref === undefined ? String(value) : await read(ref, `headers.${name}`);
  }
  return headers;
}

async function channel(owner: ChannelResource, prefix: string, read: Read): Promise<DesiredItem> {
  const { namespace, name } = owner.metadata;
  const { url, urlFrom, secretRef, deletionPolicy, ...fields } = owner.spec;
  const externalId = boundedKey(`${prefix}/${name}`);
  const entry = await caught(async () => {
    if ((url === undefined) === (urlFrom === undefined))
      throw new Problem('Invalid', 'url: set either url or urlFrom');
    const built = {
      name: `${namespace}/${name}`,
      ...fields,
      externalId,
      url: urlFrom === undefined ? url : (await read(urlFrom.secretKeyRef, 'urlFrom')).trim(),
      ...(secretRef !== undefined && { secret: (await read(secretRef, 'secretRef')).trim() }),
    };
    const { error } = channelSetEntrySchema.safeParse(built);
    if (error !== undefined) throw invalid(toFieldErrors(error.issues, channelSetEntrySchema));
    return built;
  });
  return { field: 'channels', owner, externalId, url: null, isRetained: deletionPolicy === 'Retain', entry };
}

/** Shortens a key that would be too long, and keeps it unique. */
function boundedKey(key: string): string {
  if (key.length <= LIMITS.externalIdCharacters) return key;
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 16);
  return `${key.slice(0, LIMITS.externalIdCharacters - hash.length - 1)}.${hash}`;
}

const MAX_SHOWN_ERRORS = 5;

function invalid(errors: readonly FieldError[]): Problem {
  const texts = errors.slice(0, MAX_SHOWN_ERRORS).map(({ path, message }) => `${path}: ${message}`);
  return new Problem('Invalid', texts.join('; '));
}

async function caught<Result>(work: () => Promise<Result>): Promise<Result | Problem> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

function problemOf<Result>(work: () => Result): Result | Problem {
  try {
    return work();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}
