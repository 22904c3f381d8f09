import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { renderChart } from '@tocsin/infra/helm';
import { chartValues, storeObjects } from '@tocsin/infra/kubernetes/kubernetes-system';
import { findProblems, type Manifest, readManifests } from '@tocsin/infra/manifests';
import { ROOT } from '@tocsin/infra/repository';

const STORES = {
  postgresImage: 'postgres:18',
  redisImage: 'redis:7',
  nodeImage: 'registry.example.com/tocsin/checker:1.2.3',
  postgresPassword: 'x',
  redisPassword: 'x',
  outsideFiles: { 'outside.mjs': '' },
};

/** As `npm run test:kubernetes` does, without building first. */
function runProgram(env: Readonly<Record<string, string>>): { status: number | null; stdout: string } {
  const code = `import('${ROOT}packages/infra/dist/kubernetes/main.js').then(({ main }) => main([]))`;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    encoding: 'utf8',
  });
}

test('the stores of the cluster test are valid manifests', async () => {
  expect(await findProblems(storeObjects(STORES) as Manifest[])).toEqual([]);
});

test('the chart takes the values of the cluster test, and another rollout replaces every pod', async () => {
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
])('without what it needs, it says so and exits with 2: %s', (message, env) => {
  const { status, stdout } = runProgram(env);
  expect(stdout).toContain(message);
  expect(status).toBe(2);
});
