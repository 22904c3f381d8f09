import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { readManifests } from '../repository.ts';
import { inspectContents } from './images.ts';

/** Every image has at least 20 packages, and an SBOM that lists them. */
const PACKAGES = Array.from({ length: 20 }, (_, index) => `package-${index}`);

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeEach(async () => {
  folder = await createTemporaryFolder();
  for (const name of PACKAGES) await write(`node_modules/.pnpm/${name}@1.0.0/node_modules/${name}/index.js`);
  await writeSbom((await readManifests())[0]?.[1].version);
});
afterEach(() => folder.remove());

async function write(path: string, text = ''): Promise<void> {
  await mkdir(dirname(join(folder.path, path)), { recursive: true });
  await writeFile(join(folder.path, path), text);
}

function writeSbom(version?: string): Promise<void> {
  const components = PACKAGES.map((name) => ({ name }));
  const sbom = { bomFormat: 'CycloneDX', metadata: { component: { version } }, components };
  return write('sbom.cdx.json', JSON.stringify(sbom));
}

test('inspectContents finds no problem in an image with packages and built JavaScript', async () => {
  await write('dist/main.js', 'start();');
  expect(await inspectContents(folder.path)).toEqual([]);
});

test.each([
  ['jest is a development package', 'node_modules/.pnpm/jest@30.0.0/node_modules/jest/index.js', ''],
  ['dist/main.test.js is a source or a test', 'dist/main.test.js', ''],
  ['src/main.ts is a source or a test', 'src/main.ts', ''],
  ['other is not in sbom.cdx.json', 'node_modules/.pnpm/other@1.0.0/node_modules/other/index.js', ''],
  ['.env can hold a secret', '.env', ''],
  ['dist/server.key can hold a secret', 'dist/server.key', ''],
  [`dist/a.js contains tocsin_live_0123…`, 'dist/a.js', `'tocsin_live_${'0123'.repeat(12)}'`],
  ['dist/b.js contains -----BEGIN PRIVA…', 'dist/b.js', `-----BEGIN PRIVATE KEY-----\nMIIE`],
])('inspectContents reports: %s', async (problem, path, text) => {
  await write(path, text);
  expect(await inspectContents(folder.path)).toContain(problem);
});

test('inspectContents reports an SBOM of another version', async () => {
  await writeSbom('99.0.0');
  expect(await inspectContents(folder.path)).toEqual(['sbom.cdx.json describes version 99.0.0']);
});
