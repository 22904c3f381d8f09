/** Kinds of other projects, whose schemas accept anything here because `findProblems` validates these manifests. */
const KINDS = [
  ['gateway.networking.k8s.io', 'v1', 'HTTPRoute', 'httproutes'],
  ['keda.sh', 'v1alpha1', 'ScaledObject', 'scaledobjects'],
  ['monitoring.coreos.com', 'v1', 'PrometheusRule', 'prometheusrules'],
  ['monitoring.coreos.com', 'v1', 'ServiceMonitor', 'servicemonitors'],
] as const;

const DEFINITIONS = KINDS.map(([group, name, kind, plural]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `${plural}.${group}`,
    annotations: { 'api-approved.kubernetes.io': 'unapproved, fixture of a test' },
  },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind, plural },
    versions: [
      {
        name,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}));

/** Accounts of the pods that are created without a release. */
const ACCOUNTS = ['default', 'up-tocsin', 'up-tocsin-operator', 'uptime', 'uptime-operator'];

/** Volumes that restricted-v2 allows. */
const VOLUMES = `configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret`.split(
  ' ',
);
const CONTEXT = 'object.spec.?securityContext';
/** OpenShift gives each namespace a range of user ids. */
const inRange = (id: string): string => `${id} >= 1000620000 && ${id} < 1000630000`;
const ofContainers = (field: string, test: string): string =>
  `variables.containers.all(c, c.?securityContext.${field}${test})`;

/** The rules of restricted-v2, OpenShift's security context constraint for pods without special rights. */
const RESTRICTED_V2: Readonly<Record<string, string>> = {
  runAsUser: `variables.users.all(id, ${inRange('id')})`,
  fsGroup: inRange(`${CONTEXT}.?fsGroup.orValue(1000620000)`),
  // A privileged container would also need this.
  allowPrivilegeEscalation: ofContainers('?allowPrivilegeEscalation', '.orValue(true) == false'),
  'capabilities.drop': ofContainers('?capabilities.?drop', ".orValue([]).exists(name, name == 'ALL')"),
  'capabilities.add': ofContainers(
    '?capabilities.?add',
    ".orValue([]).all(name, name == 'NET_BIND_SERVICE')",
  ),
  seccompProfile: `${CONTEXT}.?seccompProfile.?type.orValue('') == 'RuntimeDefault' && ${ofContainers('?seccompProfile.?type', ".orValue('RuntimeDefault') == 'RuntimeDefault'")}`,
  'host namespaces': ['hostNetwork', 'hostPID', 'hostIPC']
    .map((field) => `object.spec.?${field}.orValue(false) == false`)
    .join(' && '),
  hostPort: 'variables.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))',
  volumes: `object.spec.?volumes.orValue([]).all(v, ${VOLUMES.map((kind) => `has(v.${kind})`).join(' || ')})`,
};

/** Objects without a namespace. @param id the label of the namespaces in which restricted-v2 applies */
function clusterObjects(id: string): readonly object[] {
  const priorityClass = {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'high' },
    value: 1_000,
  };
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: id },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
        ],
      },
      variables: [
        {
          name: 'containers',
          expression: 'object.spec.containers + object.spec.?initContainers.orValue([])',
        },
        {
          name: 'users',
          expression: `[${CONTEXT}.?runAsUser.orValue(1000620000)] + variables.containers.map(c, c.?securityContext.?runAsUser.orValue(1000620000))`,
        },
      ],
      validations: Object.entries(RESTRICTED_V2).map(([field, expression]) => ({
        expression,
        message: `restricted-v2 refuses ${field}`,
      })),
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: id },
    spec: {
      policyName: id,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchLabels: { 'restricted-v2': id } } },
    },
  };
  return [...DEFINITIONS, priorityClass, policy, binding];
}

/**
 * What the tests of the chart expect of a cluster. Namespaces come first.
 * @param id prefix of the namespaces: itself and `-release` with the standard restricted, `-openshift` with restricted-v2
 */
export function fixtures(id: string): readonly object[] {
  const restricted = Object.fromEntries(
    ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
  );
  const namespaces = Object.entries({
    [id]: restricted,
    [`${id}-release`]: restricted,
    [`${id}-openshift`]: { 'restricted-v2': id },
    shop: {},
    cart: {},
  }).map(([name, labels]) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }));
  const accounts = [id, `${id}-openshift`].flatMap((of) =>
    ACCOUNTS.map((name) => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace: of },
    })),
  );
  return [...namespaces, ...clusterObjects(id), ...accounts];
}
