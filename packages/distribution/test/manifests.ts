import { parseAllDocuments } from 'yaml';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [key: string]: unknown;
}

/** The documents of a YAML text without empty ones. @throws Error if it is not YAML or has a key twice */
export function readManifests(text: string): Manifest[] {
  // Kubernetes reads YAML 1.1, in which an unquoted `no` is a boolean.
  return parseAllDocuments(text, { uniqueKeys: true, version: '1.1' }).flatMap((document) => {
    const [error] = 'errors' in document ? document.errors : [];
    if (error) throw error;
    const value = document.toJS() as Manifest | null;
    return value === null ? [] : [value];
  });
}

/** Returns the first manifest of a kind, with this name if one is given. @throws Error if there is none */
export function findManifest(manifests: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = manifests.find(
    (one) => one.kind === kind && (name === undefined || one.metadata.name === name),
  );
  if (found === undefined) throw new Error(`there is no ${kind} ${name ?? ''}`);
  return found;
}

interface Container {
  readonly image: string;
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef?: { readonly key: string } };
  }[];
  readonly envFrom?: readonly object[];
  readonly securityContext: object;
  readonly resources: object;
  readonly ports?: readonly { readonly name: string }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
}

interface PodTemplate {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: object;
  };
  readonly spec: {
    readonly containers: readonly [Container];
    readonly terminationGracePeriodSeconds?: number;
  };
}

/** A pod that a workload starts, with the kind and the name of the workload. */
export type Pod = PodTemplate & { readonly kind: string; readonly name: string };

export function podsOf(manifests: readonly Manifest[]): Pod[] {
  return manifests.flatMap(({ kind, metadata: { name }, spec }) => {
    const { template } = (spec ?? {}) as { readonly template?: PodTemplate };
    return template === undefined ? [] : [{ ...template, kind, name }];
  });
}

/** @throws Error if there is none */
export function findPod(manifests: readonly Manifest[], name: string): Pod {
  const pod = podsOf(manifests).find((each) => each.name === name);
  if (pod === undefined) throw new Error(`no pod of ${name}`);
  return pod;
}

export function isSelected(pod: Pod, matchLabels: Readonly<Record<string, string>>): boolean {
  return Object.entries(matchLabels).every(([key, value]) => pod.metadata.labels[key] === value);
}

/** The packages with the OpenAPI schemas of operators, by API group. */
const OPERATORS: Readonly<Record<string, string>> = {
  'argoproj.io': '@kubernetes-models/argo-cd',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

/** Returns the violations of the schemas, and the keys that no schema knows. */
export async function findProblems(manifests: readonly Manifest[]): Promise<string[]> {
  const problems: string[] = [];
  // One at a time, because concurrent imports of the same module fail in Jest.
  for (const manifest of manifests) {
    const { apiVersion, kind, metadata } = manifest;
    const found = await validate(manifest);
    problems.push(...found.map((problem) => `${apiVersion} ${kind} ${metadata.name}: ${problem}`));
  }
  return problems;
}

/** Throws an error if the object that it is called on does not match its schema. */
type Validate = (this: unknown) => void;

async function validate(manifest: Manifest): Promise<string[]> {
  const { apiVersion, kind } = manifest;
  const path = `${OPERATORS[apiVersion.split('/')[0] ?? ''] ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
  const module = (await import(path).catch(() => ({}))) as Record<
    string,
    { prototype: { validate: Validate } } | undefined
  >;
  const validateKind = module[kind]?.prototype.validate;
  if (validateKind === undefined) return ['its kind has no schema here'];
  const { value, unread } = watchReads(manifest);
  const problems: string[] = [];
  try {
    validateKind.call(value);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  // The schemas accept unknown keys, so this finds the keys that the validation never read.
  // Schemas inside of a CustomResourceDefinition are not read. Only an API server validates them.
  const unknown = unread().filter((key) => !key.includes('/openAPIV3Schema/'));
  return [...problems, ...unknown.map((key) => `${key} is not known`)];
}

/**
 * Watches which keys of an object are read. `unread` returns the paths of the others, except in objects of which no key was read, because
 * such an object may contain anything. Listing an object's keys reads all of them.
 */
function watchReads<Value>(value: Value): { readonly value: Value; readonly unread: () => string[] } {
  const objects: { readonly path: string; readonly target: object; readonly read: Set<string> }[] = [];
  const proxies = new Map<object, object>();

  function watch(part: unknown, path: string): unknown {
    if (typeof part !== 'object' || part === null) return part;
    const known = proxies.get(part);
    if (known !== undefined) return known;
    const read = new Set<string>();
    if (!Array.isArray(part)) objects.push({ path, target: part, read });
    const proxy = new Proxy(part, {
      get(target, key) {
        const found: unknown = Reflect.get(target, key);
        if (typeof key === 'symbol') return found;
        read.add(key);
        return watch(found, `${path}/${key}`);
      },
      ownKeys(target) {
        const keys = Reflect.ownKeys(target);
        for (const key of keys) read.add(String(key));
        return keys;
      },
    });
    proxies.set(part, proxy);
    return proxy;
  }

  const unreadOf = ({ path, target, read }: (typeof objects)[number]): string[] =>
    Object.keys(target).flatMap((key) => (read.has(key) ? [] : [`${path}/${key}`]));
  return {
    value: watch(value, '') as Value,
    unread: () => objects.filter(({ read }) => read.size > 0).flatMap(unreadOf),
  };
}
