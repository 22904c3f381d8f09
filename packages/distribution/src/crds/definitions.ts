import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { stringify } from 'yaml';
import { channelSpecSchema, monitorSpecSchema } from '@tocsin/operator/resources/spec';
import { toStructuralSchema } from './structural-schema.ts';

const text = (description: string, more: object = {}): object => ({ type: 'string', description, ...more });

const conditions = {
  type: 'array',
  description:
    'Accepted: whether the resource is valid. Synced: whether Tocsin has what the resource declares. Both say why not.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: text('Accepted or Synced.'),
      status: text('True or False.'),
      reason: text('The reason in one word, for programs.'),
      message: text('The reason, for people.'),
      lastTransitionTime: text('When the status last changed.', { format: 'date-time' }),
      observedGeneration: {
        type: 'integer',
        format: 'int64',
        description: 'The generation of the resource that the condition is about.',
      },
    },
  },
};

const id = text('Id in Tocsin.');

const monitorStatus = {
  id,
  url: text('The URL that is checked.'),
  status: text('The status of the monitor.', { enum: MONITOR_STATUSES }),
  lastTransitionTime: text('When the status of the monitor last changed.', { format: 'date-time' }),
  conditions,
};

const column = (name: string, jsonPath: string, more: object = {}): object => ({
  name,
  type: 'string',
  jsonPath,
  ...more,
});
const synced = column('Synced', '.status.conditions[?(@.type=="Synced")].status');
const reason = column('Reason', '.status.conditions[?(@.type=="Accepted")].message', { priority: 1 });
const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const url = column('URL', '.status.url');

function definition(
  kind: string,
  spec: object,
  status: object,
  columns: readonly object[],
  about: string,
): object {
  const singular = kind.toLowerCase();
  const plural = `${singular}s`;
  const version = {
    name: 'v1alpha1',
    served: true,
    storage: true,
    subresources: { status: {} },
    additionalPrinterColumns: columns,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        description: about,
        required: ['spec'],
        properties: {
          apiVersion: { type: 'string' },
          kind: { type: 'string' },
          metadata: { type: 'object' },
          spec,
          status: { type: 'object', description: 'Written by the operator.', properties: status },
        },
      },
    },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    // Without this annotation, uninstalling the chart would delete every resource, and with them all monitors.
    metadata: { name: `${plural}.tocsin.dev`, annotations: { 'helm.sh/resource-policy': 'keep' } },
    spec: {
      group: 'tocsin.dev',
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular, categories: ['tocsin'] },
      versions: [version],
    },
  };
}

/** The CustomResourceDefinitions as YAML. Their schemas follow from those of the API. */
export function crdYaml(): string {
  const monitorSpec = {
    ...toStructuralSchema(monitorSpecSchema),
    description: 'What is checked, and how. A field that is not set has the default of Tocsin.',
    'x-kubernetes-validations': [
      { rule: 'has(self.url) != has(self.urlFrom)', message: 'set either url or urlFrom' },
    ],
  };
  const channelSpec = {
    ...toStructuralSchema(channelSpecSchema),
    description: 'Who receives webhooks, and of which monitors.',
    'x-kubernetes-validations': [
      { rule: 'has(self.url) != has(self.urlFrom)', message: 'set either url or urlFrom' },
    ],
  };
  const documents = [
    definition(
      'Monitor',
      monitorSpec,
      monitorStatus,
      [column('Status', '.status.status'), url, synced, age, reason],
      'A URL that Tocsin checks.',
    ),
    definition(
      'Channel',
      channelSpec,
      { id, conditions },
      [synced, age, reason],
      'A receiver of the webhooks of Tocsin.',
    ),
  ];
  const header =
    '# Generated from the schemas of the API by `pnpm --filter @tocsin/distribution generate:crds`.\n';
  return (
    header +
    documents
      .map((document) =>
        stringify(document, { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true }),
      )
      .join('---\n')
  );
}
