import { expect, test } from '@jest/globals';
import { findProblems, readManifests } from './manifests.ts';

/*
 * The judge of the manifests judged: what it must refuse, as Kubernetes' own strict decoding does.
 */
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

test('takes what is right', async () => {
  expect(await problemsOf(deployment((text) => text))).toEqual([]);
});

test.each([
  [
    'a key that there is not',
    'runAsNonRoot',
    'runAsNonroot',
    '/spec/template/spec/securityContext/runAsNonroot is not known',
  ],
  ['one in a list', 'image: b', 'imagee: b', '/spec/template/spec/containers/0/imagee is not known'],
  ['one at the top', 'spec:\n  selector', 'spce: {}\nspec:\n  selector', '/spce is not known'],
  [
    'one at the wrong depth',
    'httpGet: { path: /, port: http }',
    'path: /',
    '/readinessProbe/path is not known',
  ],
  ['a number for a text', 'value: b', 'value: 5', '/spec/template/spec/containers/0/env/0/value'],
  [
    'a word that YAML 1.1 reads as a boolean',
    'value: b',
    'value: no',
    '/spec/template/spec/containers/0/env/0/value',
  ],
  [
    'a text for a truth',
    'runAsNonRoot: true',
    "runAsNonRoot: 'true'",
    '/spec/template/spec/securityContext/runAsNonRoot',
  ],
  ['something missing', '- name: a\n          image', '- image', 'name'],
  ['a kind without a schema', 'kind: Deployment', 'kind: Deploymint', 'has no schema here'],
])('refuses %s', async (_name, right, wrong, said) => {
  const text = deployment((all) => all.replace(right, wrong));
  expect((await problemsOf(text)).join('\n')).toContain(said);
});

test('refuses a key that stands twice', () => {
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
])('knows what %s %s may hold', async (apiVersion, kind, rest) => {
  const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n${rest}`;
  expect(await problemsOf(text)).toEqual([]);
  expect(await problemsOf(text.replace('spec: {', 'spec: { podSelectors: {},'))).toEqual([
    expect.stringContaining('/spec/podSelectors is not known'),
  ]);
});
