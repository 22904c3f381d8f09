import type { ChannelSpec, MonitorSpec } from '../resources/spec.ts';

export interface Metadata {
  readonly name: string;
  /** Empty for an object without a namespace. */
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp: string;
  /** Only those of Tocsin. */
  readonly annotations: Readonly<Record<string, string>>;
}

interface Base<Kind extends string, Spec> {
  readonly kind: Kind;
  readonly apiVersion: string;
  readonly metadata: Metadata;
  readonly spec: Spec;
}

export interface Condition {
  readonly type: 'Accepted' | 'Synced';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

/** Status of a Monitor or Channel. Null removes a field from the resource. */
export interface ResourceStatus {
  readonly id?: string | null;
  readonly url?: string | null;
  readonly status?: string | null;
  readonly lastTransitionTime?: string | null;
  readonly conditions?: readonly Condition[];
}

type MonitorResource = Base<'Monitor', MonitorSpec> & { readonly status?: ResourceStatus };
export type ChannelResource = Base<'Channel', ChannelSpec> & { readonly status?: ResourceStatus };
export type Resource = MonitorResource | ChannelResource;

interface IngressSpec {
  readonly ingressClassName?: string;
  readonly rules?: readonly { readonly host?: string }[];
  readonly tls?: readonly { readonly hosts?: readonly string[] }[];
}
interface ParentRef {
  readonly kind?: string;
  readonly name: string;
  readonly namespace?: string;
  readonly sectionName?: string;
}
interface HttpRouteSpec {
  readonly hostnames?: readonly string[];
  readonly parentRefs?: readonly ParentRef[];
}
interface Listener {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly hostname?: string;
}
interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly appProtocol?: string;
}
export type Ingress = Base<'Ingress', IngressSpec>;
export type HttpRoute = Base<'HTTPRoute', HttpRouteSpec>;
export type Gateway = Base<'Gateway', { readonly listeners?: readonly Listener[] }>;
export type Service = Base<'Service', { readonly ports?: readonly ServicePort[] }>;

export interface ObjectOf {
  readonly Monitor: MonitorResource;
  readonly Channel: ChannelResource;
  readonly Ingress: Ingress;
  readonly HTTPRoute: HttpRoute;
  readonly Gateway: Gateway;
  readonly Service: Service;
  readonly Namespace: Base<'Namespace', object>;
  readonly IngressClass: Base<'IngressClass', object>;
}
export type Kind = keyof ObjectOf;
export type KubernetesObject = ObjectOf[Kind];

interface KindRules {
  readonly apiVersion: string;
  readonly plural: string;
  /** Fields of `spec` that are kept in memory. Null keeps all. */
  readonly fields: readonly string[] | null;
  /** Namespaces whose monitors may change with an object: its own, or any. */
  readonly affects: 'own' | 'all';
  readonly isNamespaced: boolean;
  /** True if a cluster may not have this API. */
  readonly isOptional: boolean;
}

const TOCSIN = 'tocsin.dev/v1alpha1';
const NETWORKING = 'networking.k8s.io/v1';
const GATEWAYS = 'gateway.networking.k8s.io/v1';

function rulesOf(
  apiVersion: string,
  plural: string,
  fields: KindRules['fields'],
  { affects = 'own', isNamespaced = true }: Partial<KindRules> = {},
): KindRules {
  return { apiVersion, plural, fields, affects, isNamespaced, isOptional: apiVersion === GATEWAYS };
}

export const KINDS: Readonly<Record<Kind, KindRules>> = {
  Monitor: rulesOf(TOCSIN, 'monitors', null),
  Channel: rulesOf(TOCSIN, 'channels', null),
  Ingress: rulesOf(NETWORKING, 'ingresses', ['ingressClassName', 'rules', 'tls']),
  Service: rulesOf('v1', 'services', ['ports']),
  HTTPRoute: rulesOf(GATEWAYS, 'httproutes', ['hostnames', 'parentRefs']),
  Gateway: rulesOf(GATEWAYS, 'gateways', ['listeners'], { affects: 'all' }),
  Namespace: rulesOf('v1', 'namespaces', [], { isNamespaced: false }),
  IngressClass: rulesOf(NETWORKING, 'ingressclasses', [], { affects: 'all', isNamespaced: false }),
};

/** The path of a list, or of an object if `name` is given. @param namespace null for the whole cluster */
export function pathOf(
  { apiVersion, plural }: Pick<KindRules, 'apiVersion' | 'plural'>,
  namespace: string | null,
  name?: string,
): string {
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const within = namespace === null || namespace === '' ? base : `${base}/namespaces/${namespace}`;
  return name === undefined ? `${within}/${plural}` : `${within}/${plural}/${name}`;
}

/** An object as the API server sends it. */
interface Received {
  readonly metadata: Omit<Metadata, 'namespace' | 'annotations' | 'generation'> & Partial<Metadata>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: ResourceStatus;
}

/** Keeps what the operator needs of an object, because a cluster may have many thousands. */
export function toObject<K extends Kind>(kind: K, received: unknown): ObjectOf[K] {
  const { apiVersion, fields } = KINDS[kind];
  const { metadata, spec = {}, status } = received as Received;
  const { name, namespace = '', uid, resourceVersion, generation = 0, creationTimestamp } = metadata;
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith('tocsin.dev/')),
  );
  const kept = Object.fromEntries(
    (fields ?? []).flatMap((field) => (field in spec ? [[field, spec[field]]] : [])),
  );
  const object = {
    kind,
    apiVersion,
    metadata: { name, namespace, uid, resourceVersion, generation, creationTimestamp, annotations },
    spec: fields === null ? spec : kept,
    ...(fields === null && status !== undefined && { status }),
  };
  return object as unknown as ObjectOf[K];
}
