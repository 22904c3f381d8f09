import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CHART, packageChart } from '@tocsin/infra/helm';
import { inspectChart } from '@tocsin/infra/release/artifacts';
import { readRepositoryFile, ROOT } from '@tocsin/infra/repository';
import { parse } from 'yaml';
import { VARIANTS } from './chart-variants.ts';
import { renderChart } from './render-chart.ts';

let folder: string;
let archive: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tocsin-chart-'));
  archive = await packageChart(folder);
});
afterAll(() => rm(folder, { recursive: true }));

test('the package has the files of the chart and no others', async () => {
  const { version } = JSON.parse(await readRepositoryFile('package.json')) as { version: string };
  // Argo CD and registries refuse links that leave the chart.
  expect(await inspectChart(archive, ROOT, version)).toEqual([]);
  expect(await inspectChart(archive, ROOT, '99.0.0')).toEqual([
    `its version is ${version}`,
    `its appVersion is ${version}`,
  ]);
  const files = (await readdir(join(ROOT, CHART), { recursive: true })).toSorted();
  const kinds =
    /^(?:\.helmignore|(?:Chart|values)\.yaml|values\.schema\.json|README\.md|(?:templates|files)(?:\/.*)?)$/;
  expect(files.filter((path) => !kinds.test(path))).toEqual([]);
});

test('the package renders the same manifests as the folder', async () => {
  const values = VARIANTS['everything on'] ?? {};
  expect(await renderChart(values, archive)).toBe(await renderChart(values));
});

test('the version of the app is the version of the repository', async () => {
  const { version } = JSON.parse(await readRepositoryFile('package.json')) as { version: string };
  expect(parse(await readRepositoryFile(`${CHART}/Chart.yaml`))).toMatchObject({
    appVersion: version,
    kubeVersion: expect.stringMatching(/^>=1\.\d+\.0-0$/),
  });
});
