import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { chartValues, STORES_CHART, storesValues } from '@tocsin/infra/kubernetes/kubernetes-system';
import { findManifest, findProblems, podsOf, readManifests } from './manifests.ts';
import { ROOT } from '@tocsin/infra/repository';
import { renderChart } from './render-chart.ts';

const OPTIONS = {
  registry: 'registry.example.com',
  from: '1.2.3',
  to: '1.2.3',
  postgres: 'postgres:18',
  redis: 'redis:7',
};

/** As `npm run test:kubernetes` does, without building first. */
function runProgram(env: Readonly<Record<string, string>>): { status: number | null; stdout: string } {
  const code = `import('${ROOT}packages/infra/dist/kubernetes/main.js').then(({ main }) => main([]))`;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    encoding: 'utf8',
  });
}

test('the stores of the cluster test are valid manifests with the settings that the chart needs', async () => {
  const values = await storesValues(OPTIONS, 'tocsin_live_x');
  const manifests = readManifests(await renderChart(values, STORES_CHART));
  expect(await findProblems(manifests)).toEqual([]);
  expect(podsOf(manifests).map(({ name, spec }) => [name, spec.containers[0]?.image])).toEqual([
    ['outside', 'registry.example.com/tocsin/checker:1.2.3'],
    ['postgres', 'postgres:18'],
    ['redis', 'redis:7'],
  ]);
  const outside = findManifest(manifests, 'ConfigMap', 'outside')['data'];
  expect(Object.keys(outside as object).toSorted()).toEqual([
    'ca.pem',
    'cert.pem',
    'key.pem',
    'outside.mjs',
    'tocsin.yaml',
  ]);
  expect(findManifest(manifests, 'Secret', 'tocsin-settings')['stringData']).toMatchObject({
    DATABASE_URL: expect.stringMatching(/^postgres:/),
    BOOTSTRAP_API_KEY: 'tocsin_live_x',
  });
});

test('the chart accepts the values of the cluster test, and another rollout replaces every pod', async () => {
  const [first, second] = await Promise.all(
    [1, 2].map(async (rollout) =>
      readManifests(await renderChart(chartValues('registry.example.com', '1.2.3', rollout))).filter(
        ({ kind }) => kind === 'Deployment',
      ),
    ),
  );
  expect(first?.map(({ metadata }) => metadata.name)).toEqual([
    'up-tocsin-api',
    'up-tocsin-checker-eu',
    'up-tocsin-checker-us',
    'up-tocsin-notifier',
  ]);
  for (const [at, deployment] of (first ?? []).entries()) expect(second?.[at]).not.toEqual(deployment);
});

test.each([
  ['No cluster: set KUBECONFIG', {}],
  ['No images: set IMAGE_REGISTRY', { KUBECONFIG: '/does/not/exist' }],
  ['No cluster: ', { KUBECONFIG: '/does/not/exist', IMAGE_REGISTRY: 'registry.example.com' }],
])('test:kubernetes exits with 2 and explains: %s', (message, env) => {
  const { status, stdout } = runProgram(env);
  expect(stdout).toContain(message);
  expect(status).toBe(2);
});
