import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CHART, packageChart, renderChart } from '@tocsin/infra/helm';
import { readRepositoryFile, ROOT } from '@tocsin/infra/repository';
import { parse } from 'yaml';
import { VARIANTS } from './chart-variants.ts';

let folder: string;
let archive: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tocsin-chart-'));
  archive = await packageChart(folder);
});
afterAll(() => rm(folder, { recursive: true }));

/** The paths in a tar archive. */
function listTar(tar: Buffer): string[] {
  const paths: string[] = [];
  for (let at = 0; tar[at] !== 0 && at < tar.length;) {
    const field = (start: number, end: number): string =>
      tar.toString('utf8', at + start, at + end).replace(/\0.*$/s, '');
    paths.push(field(0, 100));
    at += 512 + Math.ceil(Number.parseInt(field(124, 136), 8) / 512) * 512;
  }
  return paths;
}

test('the package has the files of the chart and no others', async () => {
  const entries = await readdir(join(ROOT, CHART), { recursive: true, withFileTypes: true });
  // Argo CD and registries refuse links that leave the chart.
  expect(entries.filter((entry) => !entry.isFile() && !entry.isDirectory())).toEqual([]);
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).replace(join(ROOT, CHART), 'tocsin'));
  expect(listTar(gunzipSync(await readFile(archive))).toSorted()).toEqual(files.toSorted());
  const kinds =
    /^tocsin\/(?:\.helmignore|(?:Chart|values)\.yaml|values\.schema\.json|README\.md|(?:templates|files)\/.*)$/;
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
