import type { Manifest } from './manifests.ts';

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
