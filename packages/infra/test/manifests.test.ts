import { expect, test } from '@jest/globals';
import { findProblems, readManifests } from './manifests.ts';

/* `findProblems` reports the fields that the strict decoding of Kubernetes rejects. */
function deployment(change: (pod: string) => string): string {
  return change(`
apiVersion: apps/v1
kind: Deployment
metadata: { name: a, labels: { any: thing } }
spec:
  selector: { matchLabels: { app: a } }
  template:
    metadata: { labels: { app: a }, annotations: { free: form } }
    spec:
      securityContext: { runAsNonRoot: true }
      containers:
        - name: a
          image: b
          resources: { limits: { cpu: 1, memory: 1Gi, example.com/gpu: 1 } }
          env: [{ name: A, value: b }]
          readinessProbe: { httpGet: { path: /, port: http } }
`);
}

function problemsOf(text: string): Promise<string[]> {
  return findProblems(readManifests(text));
}

test('findProblems reports nothing for a valid manifest', async () => {
  expect(await problemsOf(deployment((text) => text))).toEqual([]);
});

test.each([
  [
    'an unknown key',
    'runAsNonRoot',
    'runAsNonroot',
    '/spec/template/spec/securityContext/runAsNonroot is not known',
  ],
  [
    'an unknown key in a list',
    'image: b',
    'imagee: b',
    '/spec/template/spec/containers/0/imagee is not known',
  ],
  ['an unknown key at the top', 'spec:\n  selector', 'spce: {}\nspec:\n  selector', '/spce is not known'],
  [
    'a key at the wrong depth',
    'httpGet: { path: /, port: http }',
    'path: /',
    '/readinessProbe/path is not known',
  ],
  ['a number instead of a string', 'value: b', 'value: 5', '/spec/template/spec/containers/0/env/0/value'],
  [
    'a word that YAML 1.1 reads as a boolean',
    'value: b',
    'value: no',
    '/spec/template/spec/containers/0/env/0/value',
  ],
  [
    'a string instead of a boolean',
    'runAsNonRoot: true',
    "runAsNonRoot: 'true'",
    '/spec/template/spec/securityContext/runAsNonRoot',
  ],
  ['a missing key', '- name: a\n          image', '- image', 'name'],
  ['a kind without a schema', 'kind: Deployment', 'kind: Deploymint', 'has no schema here'],
])('findProblems reports %s', async (_name, right, wrong, said) => {
  const text = deployment((all) => all.replace(right, wrong));
  expect((await problemsOf(text)).join('\n')).toContain(said);
});

test('readManifests rejects a repeated key', () => {
  expect(() => readManifests('a: 1\na: 2')).toThrow('unique');
});

test.each([
  [
    'keda.sh/v1alpha1',
    'ScaledObject',
    'spec: { scaleTargetRef: { name: a }, triggers: [{ type: redis, metadata: { listName: a } }] }',
  ],
  ['monitoring.coreos.com/v1', 'ServiceMonitor', 'spec: { selector: {}, endpoints: [{ port: a }] }'],
  ['networking.k8s.io/v1', 'NetworkPolicy', 'spec: { podSelector: {}, policyTypes: [Egress] }'],
])('findProblems knows the keys of %s %s', async (apiVersion, kind, rest) => {
  const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n${rest}`;
  expect(await problemsOf(text)).toEqual([]);
  expect(await problemsOf(text.replace('spec: {', 'spec: { podSelectors: {},'))).toEqual([
    expect.stringContaining('/spec/podSelectors is not known'),
  ]);
});
