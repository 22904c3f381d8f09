import type { ChannelSpec, MonitorSpec } from '../resources/spec.ts';

export interface Metadata {
  readonly name: string;
  /** Empty for an object without a namespace. */
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
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

export type MonitorResource = Base<'Monitor', MonitorSpec> & { readonly status?: ResourceStatus };
export type ChannelResource = Base<'Channel', ChannelSpec> & { readonly status?: ResourceStatus };
export type Resource = MonitorResource | ChannelResource;

export type Ingress = Base<
  'Ingress',
  {
    readonly ingressClassName?: string;
    readonly rules?: readonly { readonly host?: string }[];
    readonly tls?: readonly { readonly hosts?: readonly string[] }[];
  }
>;
export type HttpRoute = Base<
  'HTTPRoute',
  {
    readonly hostnames?: readonly string[];
    readonly parentRefs?: readonly {
      readonly kind?: string;
      readonly name: string;
      readonly namespace?: string;
      readonly sectionName?: string;
    }[];
  }
>;
export type Gateway = Base<
  'Gateway',
  {
    readonly listeners?: readonly {
      readonly name: string;
      readonly port: number;
      readonly protocol: string;
    }[];
  }
>;
export type Service = Base<
  'Service',
  {
    readonly ports?: readonly {
      readonly name?: string;
      readonly port: number;
      readonly appProtocol?: string;
    }[];
  }
>;
export type Namespace = Base<'Namespace', object>;
export type IngressClass = Base<'IngressClass', object>;

export interface ObjectOf {
  readonly Monitor: MonitorResource;
  readonly Channel: ChannelResource;
  readonly Ingress: Ingress;
  readonly HTTPRoute: HttpRoute;
  readonly Gateway: Gateway;
  readonly Service: Service;
  readonly Namespace: Namespace;
  readonly IngressClass: IngressClass;
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

const own = { affects: 'own', isNamespaced: true, isOptional: false } as const;
const TOCSIN_API = 'tocsin.dev/v1alpha1';
const NETWORKING_API = 'networking.k8s.io/v1';
const GATEWAY_API = 'gateway.networking.k8s.io/v1';

export const KINDS: Readonly<Record<Kind, KindRules>> = {
  Monitor: { ...own, apiVersion: TOCSIN_API, plural: 'monitors', fields: null },
  Channel: { ...own, apiVersion: TOCSIN_API, plural: 'channels', fields: null },
  Ingress: {
    ...own,
    apiVersion: NETWORKING_API,
    plural: 'ingresses',
    fields: ['ingressClassName', 'rules', 'tls'],
  },
  Service: { ...own, apiVersion: 'v1', plural: 'services', fields: ['ports'] },
  HTTPRoute: {
    ...own,
    apiVersion: GATEWAY_API,
    plural: 'httproutes',
    fields: ['hostnames', 'parentRefs'],
    isOptional: true,
  },
  Gateway: {
    apiVersion: GATEWAY_API,
    plural: 'gateways',
    fields: ['listeners'],
    affects: 'all',
    isNamespaced: true,
    isOptional: true,
  },
  Namespace: {
    apiVersion: 'v1',
    plural: 'namespaces',
    fields: [],
    affects: 'own',
    isNamespaced: false,
    isOptional: false,
  },
  IngressClass: {
    apiVersion: NETWORKING_API,
    plural: 'ingressclasses',
    fields: [],
    affects: 'all',
    isNamespaced: false,
    isOptional: false,
  },
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
  readonly metadata: Omit<Metadata, 'namespace' | 'annotations'> & Partial<Metadata>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: ResourceStatus;
}

/** Keeps what the operator needs of an object, because a cluster may have many thousands. */
export function toObject<K extends Kind>(kind: K, received: unknown): ObjectOf[K] {
  const { apiVersion, fields } = KINDS[kind];
  const { metadata, spec = {}, status } = received as Received;
  const { name, namespace = '', uid, resourceVersion, generation, creationTimestamp } = metadata;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
    key.startsWith('tocsin.dev/'),
  );
  const object = {
    kind,
    apiVersion,
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      ...(generation !== undefined && { generation }),
      creationTimestamp,
      annotations: Object.fromEntries(annotations),
    },
    spec:
      fields === null
        ? spec
        : Object.fromEntries(fields.flatMap((field) => (field in spec ? [[field, spec[field]]] : []))),
    ...(fields === null && status !== undefined && { status }),
  };
  return object as unknown as ObjectOf[K];
}
