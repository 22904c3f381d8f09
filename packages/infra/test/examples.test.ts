import { expect, test } from '@jest/globals';
import { CHART } from '@tocsin/infra/helm';
import { findManifest, findProblems, readManifests } from './manifests.ts';
import { readRepositoryFile } from '@tocsin/infra/repository';
import { renderChart } from './render-chart.ts';

test.each(['argocd-application', 'apply-monitors'])('the example %s matches its schemas', async (name) => {
  const manifests = readManifests(await readRepositoryFile(`infra/examples/${name}.yaml`));
  expect(manifests.length).toBeGreaterThan(0);
  expect(await findProblems(manifests)).toEqual([]);
});

test('the chart accepts the values of the Argo CD example', async () => {
  const application = findManifest(
    readManifests(await readRepositoryFile('infra/examples/argocd-application.yaml')),
    'Application',
  );
  const { source } = application['spec'] as { source: { path: string; helm: { valuesObject: object } } };
  expect(source.path).toBe(CHART);
  const manifests = readManifests(await renderChart(source.helm.valuesObject));
  expect(await findProblems(manifests)).toEqual([]);
  expect(manifests.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['ScaledObject', 'Ingress', 'ServiceMonitor', 'PrometheusRule']),
  );
});
