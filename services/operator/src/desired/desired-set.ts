import { createHash } from 'node:crypto';
import { channelSetEntrySchema } from '@tocsin/contracts/channels/channel';
import type { FieldError } from '@tocsin/contracts/errors';
import { toFieldErrors } from '@tocsin/contracts/field-errors';
import { LIMITS } from '@tocsin/contracts/limits';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import type { z } from 'zod';
import type { ClusterView, SecretData } from '../kubernetes/cluster.ts';
import type { ChannelResource, KubernetesObject } from '../kubernetes/objects.ts';
import { channelSpecSchema, type MonitorSpec, monitorSpecSchema } from '../resources/spec.ts';
import { type Read, resolveValues } from '../resources/value-sources.ts';
import { discover } from './discovery.ts';
import { Problem, problemOf } from './problem.ts';
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
    let url: string | null = null;
    const build = async (): Promise<object> => {
      if (spec instanceof Problem) throw spec;
      requireValid(toErrors(monitorSpecSchema, spec));
      const { urlFrom: _, deletionPolicy: _policy, ...fields } = spec;
      url = urlOf(cluster, namespace, spec);
      const entry = {
        name: `${namespace}/${id}`,
        ...(await resolveValues(fields, read)),
        externalId,
        url,
        labels: { ...(spec['labels'] as object | null), ...labels },
      };
      requireValid(validateMonitor(monitorSetEntrySchema, entry).errors);
      return entry;
    };
    const entry = await build().catch(problemOf);
    const isRetained = !(spec instanceof Problem) && spec.deletionPolicy === 'Retain';
    return { field: 'monitors', owner, externalId, url, isRetained, entry };
  }

  async function channel(owner: ChannelResource): Promise<DesiredItem> {
    const { name } = owner.metadata;
    const { url, urlFrom, secretRef, deletionPolicy, ...fields } = owner.spec;
    const externalId = boundedKey(`${prefix}/${name}`);
    const build = async (): Promise<object> => {
      requireValid(toErrors(channelSpecSchema, owner.spec));
      if ((url === undefined) === (urlFrom === undefined)) throw eitherUrl();
      const entry = {
        name: `${namespace}/${name}`,
        ...(await resolveValues(fields, read)),
        externalId,
        url: urlFrom === undefined ? url : (await read(urlFrom.secretKeyRef, 'urlFrom')).trim(),
        ...(secretRef !== undefined && { secret: (await read(secretRef, 'secretRef')).trim() }),
      };
      requireValid(toErrors(channelSetEntrySchema, entry));
      return entry;
    };
    const entry = await build().catch(problemOf);
    return {
      field: 'channels',
      owner,
      externalId,
      url: null,
      isRetained: deletionPolicy === 'Retain',
      entry,
    };
  }

  const { found, nextAt } = discover(cluster, namespace, defaults, now);
  const items = await Promise.all([
    ...cluster
      .list('Monitor', namespace)
      .map(async (owner) => monitor(owner, owner.metadata.name, owner.spec)),
    ...found.map(async ({ owner, host, spec }) =>
      monitor(owner, `${owner.kind.toLowerCase()}/${owner.metadata.name}/${host}`, spec),
    ),
    ...cluster.list('Channel', namespace).map(channel),
  ]);
  return { items, nextAt, usesSecrets: secrets.size > 0 };
}

function urlOf(cluster: ClusterView, namespace: string, { url, urlFrom }: MonitorSpec): string {
  if (url !== undefined && urlFrom === undefined) return url;
  if (url === undefined && urlFrom !== undefined) return urlOfReference(cluster, namespace, urlFrom);
  throw eitherUrl();
}

const eitherUrl = (): Problem => new Problem('Invalid', 'url: set either url or urlFrom');

/** Shortens a key that would be too long, and keeps it unique. */
function boundedKey(key: string): string {
  if (key.length <= LIMITS.externalIdCharacters) return key;
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 16);
  return `${key.slice(0, LIMITS.externalIdCharacters - hash.length - 1)}.${hash}`;
}

const MAX_SHOWN_ERRORS = 5;

function toErrors(schema: z.ZodType, value: unknown): FieldError[] {
  return toFieldErrors(schema.safeParse(value).error?.issues ?? [], schema);
}

/** @throws Problem if there is any error */
function requireValid(errors: readonly FieldError[]): void {
  const texts = errors.slice(0, MAX_SHOWN_ERRORS).map(({ path, message }) => `${path}: ${message}`);
  if (texts.length > 0) throw new Problem('Invalid', texts.join('; '));
}
