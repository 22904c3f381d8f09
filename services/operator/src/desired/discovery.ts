import type { ClusterView } from '../kubernetes/cluster.ts';
import type { HttpRoute, Ingress, KubernetesObject, Service } from '../kubernetes/objects.ts';
import { parse } from 'yaml';
import type { MonitorSpec } from '../resources/spec.ts';
import { Problem, problemOf } from './problem.ts';
import { gatewaysOf, ingressOrigins, type Origin, routeOrigins, serviceOrigin } from './urls.ts';

const ENABLED = 'tocsin.dev/monitor';
const SPEC = 'tocsin.dev/monitor-spec';
const KINDS = ['Ingress', 'HTTPRoute', 'Service'] as const;

/** Fields of a discovered monitor: those of a Monitor, and two more. */
type DiscoveredSpec = MonitorSpec & {
  readonly labels?: unknown;
  readonly path?: unknown;
  readonly creationDelay?: unknown;
};

interface Discovered {
  readonly owner: Ingress | HttpRoute | Service;
  readonly host: string;
  /** A spec with a URL, or why there is none. */
  readonly spec: MonitorSpec | Problem;
}

interface Discovery {
  readonly found: readonly Discovered[];
  /** When `creationDelay` of an object ends, in epoch milliseconds, or null. */
  readonly nextAt: number | null;
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A larger text would take noticeable time to parse. */
const MAX_SPEC_CHARACTERS = 16_384;

/** Parses the value of `tocsin.dev/monitor-spec`. @throws Problem */
export function parseMonitorSpec(text: string | undefined, place: string): DiscoveredSpec {
  if (text === undefined) return {};
  if (text.length > MAX_SPEC_CHARACTERS)
    throw new Problem('Invalid', `${place}: must be at most ${MAX_SPEC_CHARACTERS} characters`);
  let value: unknown;
  try {
    value = parse(text, { logLevel: 'error' }) ?? {};
  } catch (error) {
    throw new Problem('Invalid', `${place}: is not YAML (${(error as Error).message.split('\n')[0] ?? ''})`);
  }
  if (isMap(value)) return value;
  throw new Problem('Invalid', `${place}: must be a map of fields, such as "interval: 30"`);
}

/** Merges specs. A field of a later one replaces the field as a whole, except that labels are merged. Null removes a field. */
function mergeSpecs(specs: readonly DiscoveredSpec[]): DiscoveredSpec {
  const merged: Record<string, unknown> = {};
  for (const spec of specs) {
    const [before, { labels }] = [merged['labels'], spec];
    Object.assign(merged, spec, isMap(before) && isMap(labels) ? { labels: { ...before, ...labels } } : {});
  }
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

/** Finds the objects of a namespace that ask for monitors by their annotations, or by those that they inherit. */
export function discover(
  cluster: ClusterView,
  namespace: string,
  defaults: DiscoveredSpec,
  now: number,
): Discovery {
  const found: Discovered[] = [];
  // Inherited annotations are parsed once, and not for each object.
  const inherited = new Map<KubernetesObject, DiscoveredSpec | Problem>();
  const specFrom: SpecFrom = (object) => {
    const spec = inherited.get(object) ?? annotatedSpec(object);
    inherited.set(object, spec);
    if (spec instanceof Problem) throw spec;
    return spec;
  };
  let nextAt: number | null = null;
  for (const kind of KINDS) {
    for (const owner of cluster.list(kind, namespace)) {
      const parents = parentsOf(cluster, owner);
      const flag = [owner, ...parents].map(({ metadata }) => metadata.annotations[ENABLED]).find(Boolean);
      if (flag !== 'true') continue;
      const origins = originsOf(cluster, owner);
      const spec = specOf(cluster, owner, parents, defaults, specFrom);
      const readyAt = spec instanceof Problem ? 0 : readyAtOf(owner, spec);
      if (readyAt > now) {
        nextAt = Math.min(nextAt ?? Infinity, readyAt);
        continue;
      }
      for (const origin of origins)
        found.push({
          owner,
          host: origin.host,
          spec: spec instanceof Problem ? spec : atOrigin(spec, origin),
        });
    }
  }
  return { found, nextAt };
}

/** The objects whose annotations are inherited, except for the Namespace. */
function parentsOf(cluster: ClusterView, owner: Discovered['owner']): KubernetesObject[] {
  if (owner.kind === 'HTTPRoute') return gatewaysOf(cluster, owner);
  if (owner.kind === 'Service') return [];
  const { ingressClassName } = owner.spec;
  const found =
    ingressClassName === undefined ? undefined : cluster.get('IngressClass', '', ingressClassName);
  return found === undefined ? [] : [found];
}

function originsOf(cluster: ClusterView, owner: Discovered['owner']): Origin[] {
  if (owner.kind === 'Ingress') return ingressOrigins(owner);
  if (owner.kind === 'HTTPRoute') return routeOrigins(cluster, owner);
  const origin = serviceOrigin(owner);
  return origin === null ? [] : [origin];
}

type SpecFrom = (object: KubernetesObject) => DiscoveredSpec;

function annotatedSpec({ kind, metadata }: KubernetesObject): DiscoveredSpec | Problem {
  try {
    return parseMonitorSpec(metadata.annotations[SPEC], `${SPEC} of ${kind} ${metadata.name}`);
  } catch (error) {
    return problemOf(error);
  }
}

function specOf(
  cluster: ClusterView,
  owner: Discovered['owner'],
  parents: readonly KubernetesObject[],
  defaults: DiscoveredSpec,
  specFrom: SpecFrom,
): DiscoveredSpec | Problem {
  const namespace = cluster.get('Namespace', '', owner.metadata.namespace);
  const sources = [...parents.toReversed(), ...(namespace === undefined ? [] : [namespace]), owner];
  try {
    const spec = mergeSpecs([defaults, ...sources.map(specFrom)]);
    const { path = '/', creationDelay = 0 } = spec;
    if (typeof path !== 'string' || !path.startsWith('/'))
      throw new Problem('Invalid', 'path: must be text that starts with /');
    if (typeof creationDelay !== 'number' || !(creationDelay >= 0 && creationDelay <= 86_400))
      throw new Problem('Invalid', 'creationDelay: must be a number from 0 to 86400 (seconds)');
    return spec;
  } catch (error) {
    return problemOf(error);
  }
}

function readyAtOf({ metadata }: KubernetesObject, { creationDelay = 0 }: DiscoveredSpec): number {
  return Date.parse(metadata.creationTimestamp) + Number(creationDelay) * 1_000;
}

function atOrigin(spec: DiscoveredSpec, { host, origin }: Origin): MonitorSpec {
  const { path = '/', creationDelay: _, ...fields } = spec;
  const suffix = path === '/' ? '' : String(path);
  return { name: `${host}${suffix}`, ...fields, url: `${origin}${String(path)}` };
}
