import type { ClusterView } from '../kubernetes/cluster.ts';
import { type Kind, type KubernetesObject, type ObjectOf, toObject } from '../kubernetes/objects.ts';

/** An object in the namespace `shop`, or without a namespace if its kind has none. */
export function objectOf<K extends Kind>(
  kind: K,
  name: string,
  spec: object = {},
  annotations: Readonly<Record<string, string>> = {},
): ObjectOf[K] {
  const namespace = kind === 'Namespace' || kind === 'IngressClass' ? undefined : 'shop';
  const metadata = {
    name,
    namespace,
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    annotations,
  };
  return toObject(kind, { metadata, spec });
}

export function clusterOf(...objects: readonly KubernetesObject[]): ClusterView {
  const find = (kind: Kind, namespace: string): KubernetesObject[] =>
    objects.filter((each) => each.kind === kind && each.metadata.namespace === namespace);
  return {
    get: <K extends Kind>(kind: K, namespace: string, name: string) =>
      find(kind, namespace).find(({ metadata }) => metadata.name === name) as ObjectOf[K] | undefined,
    list: <K extends Kind>(kind: K, namespace: string) => find(kind, namespace) as ObjectOf[K][],
  };
}
