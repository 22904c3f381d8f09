import { expect, test } from '@jest/globals';
import { chartValues, STORES_CHART, storesValues } from '@tocsin/distribution/kubernetes/kubernetes-system';
import { findManifest, findProblems, podsOf } from './manifests.ts';
import { renderManifests } from './render-chart.ts';

test('the stores of the cluster test are valid manifests with the settings that the chart needs', async () => {
  const versions = { from: '1.2.3', to: '1.2.3', postgres: 'postgres:18', redis: 'redis:7' };
  const values = await storesValues({ registry: 'registry.example.com', ...versions }, 'tocsin_live_x');
  const manifests = await renderManifests(values, STORES_CHART);
  expect(await findProblems(manifests)).toEqual([]);
  expect(podsOf(manifests).map(({ name, spec }) => [name, spec.containers[0].image])).toEqual([
    ['outside', 'registry.example.com/tocsin/checker:1.2.3'],
    ['postgres', 'postgres:18'],
    ['redis', 'redis:7'],
  ]);
  expect(findManifest(manifests, 'Secret', 'tocsin-settings')['stringData']).toMatchObject({
    DATABASE_URL: expect.stringMatching(/^postgres:/),
    BOOTSTRAP_API_KEY: 'tocsin_live_x',
  });
});

test('the chart accepts the values of the cluster test, and another rollout replaces every pod', async () => {
  const [first = [], second = []] = await Promise.all(
    [1, 2].map(async (rollout) => {
      const manifests = await renderManifests(chartValues('registry.example.com', '1.2.3', rollout));
      return manifests.filter(({ kind }) => kind === 'Deployment');
    }),
  );
  const names = ['api', 'checker-eu', 'checker-us', 'notifier'].map((name) => `up-tocsin-${name}`);
  expect(first.map(({ metadata }) => metadata.name)).toEqual(names);
  for (const [at, deployment] of first.entries()) expect(second[at]).not.toEqual(deployment);
});
