import { parseAllDocuments } from 'yaml';

/**
 * An object whose reader is watched: `unread()` names, as paths, what stands in it that the reader never asked for. An object that was
 * not asked for anything is of a kind that may hold anything, and one whose keys were listed was read whole.
 */
function watched<Value>(value: Value): { readonly value: Value; readonly unread: () => string[] } {
  const objects: { readonly path: string; readonly target: object; readonly asked: Set<string> }[] = [];
  const known = new Map<object, object>();

  function watch(part: unknown, path: string): unknown {
    if (typeof part !== 'object' || part === null) return part;
    const before = known.get(part);
    if (before !== undefined) return before;
    const asked = new Set<string>();
    if (!Array.isArray(part)) objects.push({ path, target: part, asked });
    const proxy = new Proxy(part, {
      get(target, key) {
        const found: unknown = Reflect.get(target, key);
        if (typeof key === 'symbol') return found;
        asked.add(key);
        return watch(found, `${path}/${key}`);
      },
      ownKeys(target) {
        const keys = Reflect.ownKeys(target);
        for (const key of keys) asked.add(String(key));
        return keys;
      },
    });
    known.set(part, proxy);
    return proxy;
  }

  return {
    value: watch(value, '') as Value,
    unread: () =>
      objects
        .filter(({ asked }) => asked.size > 0)
        .flatMap(({ path, target, asked }) =>
          Object.keys(target)
            .filter((key) => !asked.has(key))
            .map((key) => `${path}/${key}`),
        ),
  };
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [key: string]: unknown;
}

/** The modules of Kubernetes' kinds, and of those of the operators that we use, compiled from their OpenAPI schemas. */
const KINDS: Readonly<Record<string, string>> = {
  'apps/v1 Deployment': 'kubernetes-models/apps/v1/Deployment',
  'autoscaling/v2 HorizontalPodAutoscaler': 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler',
  'batch/v1 CronJob': 'kubernetes-models/batch/v1/CronJob',
  'batch/v1 Job': 'kubernetes-models/batch/v1/Job',
  'networking.k8s.io/v1 Ingress': 'kubernetes-models/networking.k8s.io/v1/Ingress',
  'networking.k8s.io/v1 NetworkPolicy': 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy',
  'policy/v1 PodDisruptionBudget': 'kubernetes-models/policy/v1/PodDisruptionBudget',
  'v1 ConfigMap': 'kubernetes-models/v1/ConfigMap',
  'v1 Secret': 'kubernetes-models/v1/Secret',
  'v1 Service': 'kubernetes-models/v1/Service',
  'v1 ServiceAccount': 'kubernetes-models/v1/ServiceAccount',
  'argoproj.io/v1alpha1 Application': '@kubernetes-models/argo-cd/argoproj.io/v1alpha1/Application',
  'gateway.networking.k8s.io/v1 HTTPRoute':
    '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute',
  'keda.sh/v1alpha1 ScaledObject': '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject',
  'keda.sh/v1alpha1 TriggerAuthentication': '@kubernetes-models/keda/keda.sh/v1alpha1/TriggerAuthentication',
  'monitoring.coreos.com/v1 PrometheusRule':
    '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule',
  'monitoring.coreos.com/v1 ServiceMonitor':
    '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor',
};

/** Throws an error whose message says what is wrong with the object that it is called on. */
type Judge = (this: unknown) => void;

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

/** The one manifest of a kind, with this name where one is given. @throws Error where there is none */
export function findManifest(manifests: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = manifests.find(
    (one) => one.kind === kind && (name === undefined || one.metadata.name === name),
  );
  if (found === undefined) throw new Error(`there is no ${kind} ${name ?? ''}`);
  return found;
}

/** What is wrong with manifests by the schemas of their kinds, and which of their keys no schema knows; empty where all is well. */
export async function findProblems(manifests: readonly Manifest[]): Promise<string[]> {
  const problems: string[] = [];
  // One after the other: they load modules.
  for (const manifest of manifests) {
    const kind = `${manifest.apiVersion} ${manifest.kind}`;
    const found = await judge(kind, manifest);
    problems.push(...found.map((problem) => `${kind} ${manifest.metadata.name}: ${problem}`));
  }
  return problems;
}

async function judge(kind: string, manifest: Manifest): Promise<string[]> {
  const module = KINDS[kind];
  if (module === undefined) return ['its kind has no schema here'];
  const exported = (await import(module)) as Record<string, { prototype: { validate: Judge } } | undefined>;
  const validate = exported[manifest.kind]?.prototype.validate;
  if (validate === undefined) return [`${module} has no ${manifest.kind}`];
  const { value, unread } = watched(manifest);
  const problems: string[] = [];
  try {
    validate.call(value);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  // Schemas of Kubernetes let pass what they do not know: it is what they never looked at.
  return [...problems, ...unread().map((path) => `${path} is not known`)];
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
}

interface Container {
  readonly image: string;
  readonly env: readonly Variable[];
  readonly envFrom?: readonly object[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly securityContext: object;
  readonly resources: object;
  readonly startupProbe?: object;
  readonly livenessProbe?: object;
  readonly readinessProbe?: object;
}

/** The fields of a pod that tests read. */
export interface Pod {
  readonly kind: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: {
    readonly containers: readonly Container[];
    readonly securityContext: object;
    readonly automountServiceAccountToken: boolean;
    readonly nodeSelector?: object;
    readonly tolerations?: readonly object[];
    readonly affinity?: object;
    readonly priorityClassName?: string;
    readonly terminationGracePeriodSeconds?: number;
    readonly hostNetwork?: boolean;
    readonly hostPID?: boolean;
    readonly hostIPC?: boolean;
  };
}

interface Workload {
  readonly template?: {
    readonly metadata?: { readonly labels: Pod['labels']; readonly annotations?: Pod['annotations'] };
    readonly spec: Pod['spec'];
  };
  readonly jobTemplate?: { readonly spec: Workload };
}

/** The pods that workloads of these manifests start. */
export function podsOf(manifests: readonly Manifest[]): Pod[] {
  return manifests.flatMap(({ kind, metadata, spec }) => {
    const workload = spec as Workload | undefined;
    const template = (workload?.jobTemplate?.spec ?? workload)?.template;
    if (template === undefined) return [];
    const { labels = {}, annotations = {} } = template.metadata ?? {};
    return [{ kind, name: metadata.name, labels, annotations, spec: template.spec }];
  });
}
