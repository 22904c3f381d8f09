import { expect, test } from '@jest/globals';
import { findProblems, readManifests } from './manifests.ts';

const DEPLOYMENT = `
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
`;
const POD = '/spec/template/spec';

function problemsOf(text: string): Promise<string[]> {
  return findProblems(readManifests(text));
}

/* The strict decoding of Kubernetes rejects these, too. */
test.each([
  ['runAsNonRoot', 'runAsNonroot', `${POD}/securityContext/runAsNonroot is not known`],
  ['image: b', 'imagee: b', `${POD}/containers/0/imagee is not known`],
  // YAML 1.1 reads this word as a boolean.
  ['value: b', 'value: no', `${POD}/containers/0/env/0/value`],
  ['runAsNonRoot: true', "runAsNonRoot: 'true'", `${POD}/securityContext/runAsNonRoot`],
  ['kind: Deployment', 'kind: Deploymint', 'has no schema here'],
])('findProblems reports the change of %j to %j', async (right, wrong, problem) => {
  expect(await problemsOf(DEPLOYMENT)).toEqual([]);
  expect((await problemsOf(DEPLOYMENT.replace(right, wrong))).join('\n')).toContain(problem);
});

test('findProblems knows the keys of operators', async () => {
  const spec = 'spec: { scaleTargetRef: { name: a }, triggers: [{ type: a, metadata: {} }] }';
  const text = `apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: { name: a }\n${spec}`;
  expect(await problemsOf(text)).toEqual([]);
  const [problem] = await problemsOf(text.replace('spec: {', 'spec: { podSelectors: {},'));
  expect(problem).toContain('/spec/podSelectors is not known');
});
