import { CHART, helm } from '@tocsin/infra/helm';
import { parseAllDocuments } from 'yaml';

export const AUTOSCALERS = ['autoscaling', 'keda'] as const;
/** The chart's two ways to scale checkers, by the names of their values. */
export type AutoscalerName = (typeof AUTOSCALERS)[number];

/** What the chart tells Kubernetes about scaling checkers. */
export interface ScalingSpec {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly scaleDownSeconds: number;
  /** Cores for each checker. */
  readonly target: number;
  /** Of Prometheus, for the cores of all checkers; null: metrics-server reports those of each. */
  readonly query: string | null;
  readonly graceSeconds: number;
  /** A duration of Prometheus. */
  readonly scrapeInterval: string;
}

interface Autoscaler {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly metrics: readonly [{ resource: { target: { averageValue: string } } }];
  readonly behavior: Behavior;
}

interface ScaledObject {
  readonly minReplicaCount: number;
  readonly maxReplicaCount: number;
  readonly triggers: readonly [{ metadata: { query: string; threshold: string } }];
  readonly advanced: { horizontalPodAutoscalerConfig: { behavior: Behavior } };
}

interface Behavior {
  readonly scaleDown: { stabilizationWindowSeconds: number };
}

interface Manifests {
  readonly HorizontalPodAutoscaler?: Autoscaler;
  readonly ScaledObject?: ScaledObject;
  readonly Checker: { template: { spec: { terminationGracePeriodSeconds: number } } };
  readonly ServiceMonitor: { endpoints: readonly [{ interval: string }] };
}

/** Renders the chart with one of its autoscalers enabled, and reads what it says about checkers. */
export async function readScaling(name: AutoscalerName, cores: number): Promise<ScalingSpec> {
  const values = {
    existingSecret: 'tocsin',
    image: { registry: 'registry.example.com' },
    serviceMonitor: { enabled: true },
    [name]: {
      enabled: true,
      cores,
      ...(name === 'keda' && { prometheus: { serverAddress: 'http://prometheus' } }),
    },
  };
  const { stdout } = await helm(['template', 'tocsin', CHART], values);
  const documents = parseAllDocuments(stdout).map((document) => document.toJS() as Document | null);
  const specs = documents.flatMap((document) =>
    document === null ? [] : [[nameOf(document), document.spec]],
  );
  const { HorizontalPodAutoscaler, ScaledObject, Checker, ServiceMonitor } = Object.fromEntries(
    specs,
  ) as Manifests;
  const others = {
    graceSeconds: Checker.template.spec.terminationGracePeriodSeconds,
    scrapeInterval: ServiceMonitor.endpoints[0].interval,
  };
  if (HorizontalPodAutoscaler !== undefined) {
    const { minReplicas, maxReplicas, metrics, behavior } = HorizontalPodAutoscaler;
    return {
      ...others,
      minReplicas,
      maxReplicas,
      scaleDownSeconds: behavior.scaleDown.stabilizationWindowSeconds,
      target: Number(metrics[0].resource.target.averageValue),
      query: null,
    };
  }
  if (ScaledObject === undefined) throw new Error(`the chart has no autoscaler with ${name}.enabled`);
  const { minReplicaCount, maxReplicaCount, triggers, advanced } = ScaledObject;
  return {
    ...others,
    minReplicas: minReplicaCount,
    maxReplicas: maxReplicaCount,
    scaleDownSeconds: advanced.horizontalPodAutoscalerConfig.behavior.scaleDown.stabilizationWindowSeconds,
    target: Number(triggers[0].metadata.threshold),
    query: triggers[0].metadata.query,
  };
}

interface Document {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
}

function nameOf({ kind, metadata }: Document): string {
  return kind === 'Deployment' && metadata.name.includes('checker') ? 'Checker' : kind;
}
