import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { readRepositoryFile, ROOT } from '@tocsin/distribution/repository';

const PACK =
  "import { main } from './packages/distribution/dist/cli-package/main.js'; await main(process.argv.slice(1));";

/** A registry without packages, which records requests. */
let registry: HttpTarget;
let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
/** The tarball is installed here. */
let home: string;

beforeAll(async () => {
  registry = await HttpTarget.start();
  registry.status = 404;
  folder = await createTemporaryFolder();
  home = await folderWith('home', {});
  // Runs in its own process, because the native bundler rejects objects from Jest's context.
  const packed = await run(ROOT, process.execPath, '--input-type=module', '--eval', PACK, home);
  expect(packed).toMatchObject({ code: 0 });
  await rename(packed.stdout.trim(), join(home, 'cli.tgz'));
  expect(await run(home, 'npm', 'install', '--no-audit', '--no-fund', './cli.tgz')).toMatchObject({
    code: 0,
  });
});
afterAll(async () => {
  await registry.stop();
  await folder.remove();
});

async function folderWith(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const path = join(folder.path, name);
  await mkdir(path, { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), text);
  return path;
}

async function run(
  cwd: string,
  command: string,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|TOCSIN_|NODE_OPTIONS$)/.test(name),
  );
  const env = {
    ...Object.fromEntries(inherited),
    npm_config_registry: registry.url(),
    npm_config_cache: join(folder.path, 'cache'),
    npm_config_update_notifier: 'false',
  };
  return promisify(execFile)(command, args, { cwd, env }).then(
    (output) => ({ code: 0, ...output }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

async function installed(file: string): Promise<string> {
  return readFile(join(home, 'node_modules', '@tocsin-monitor', 'cli', file), 'utf8');
}

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly engines: object;
  readonly dependencies?: object;
  readonly devDependencies?: object;
}

async function readManifest(path: string): Promise<Manifest> {
  return JSON.parse(await readRepositoryFile(path)) as Manifest;
}

test('the package contains one bundled program and no development files', async () => {
  const { stdout } = await run(home, 'tar', '-tzf', 'cli.tgz');
  expect(stdout.trim().split('\n').toSorted()).toEqual([
    'package/LICENSE',
    'package/README.md',
    'package/THIRD-PARTY-LICENSES',
    'package/bin/tocsin.js',
    'package/dist/main.js',
    'package/package.json',
  ]);
  const program = await installed('dist/main.js');
  expect(program).not.toContain(ROOT);
  expect(program).not.toContain('sourceMappingURL');
});

test('the manifest is public and needs no other package', async () => {
  const manifest = JSON.parse(await installed('package.json')) as object;
  const { version, license, engines } = await readManifest('package.json');
  expect(manifest).toMatchObject({ name: '@tocsin-monitor/cli', version, license, engines });
  expect(manifest).toMatchObject({ bin: { tocsin: 'bin/tocsin.js' }, publishConfig: { access: 'public' } });
  for (const field of ['private', 'scripts', 'dependencies', 'devDependencies', 'exports'])
    expect(manifest).not.toHaveProperty(field);
});

test('the licenses of the bundled packages are included, and none is a development dependency', async () => {
  const licenses = await installed('THIRD-PARTY-LICENSES');
  const names = [...licenses.matchAll(/^(\S+) \d+\.\d+\.\d+\S* \(/gm)].map(([, name]) => name);
  const [cli, root] = await Promise.all(['packages/cli/package.json', 'package.json'].map(readManifest));
  const direct = Object.keys(cli?.dependencies ?? {}).filter((name) => !name.startsWith('@tocsin/'));
  expect(names).toEqual(expect.arrayContaining(direct));
  for (const name of Object.keys({ ...cli?.devDependencies, ...root?.devDependencies }))
    expect(names).not.toContain(name);
});

test('the installed command runs without the registry, reads files and sends requests', async () => {
  const { version } = await readManifest('package.json');
  expect(await run(home, 'npx', 'tocsin', '--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
  await cp(join(ROOT, 'packages/cli/test/samples/gatus.yaml'), join(home, 'gatus.yaml'));
  const imported = await run(home, 'npx', 'tocsin', 'import', 'gatus', 'gatus.yaml');
  expect(imported.stdout).toContain('externalId:');

  const api = await HttpTarget.start();
  api.status = 401;
  await writeFile(join(home, 'key'), 'tocsin_live_unknown');
  const listed = await run(home, 'npx', 'tocsin', '--server', api.url(), '--api-key-file', 'key', 'monitors');
  await api.stop();
  expect(listed.code).toBe(1);
  expect([...api.requests.keys()]).toEqual([expect.stringMatching(/^\/api\/cli\/monitors/)]);
  expect([...registry.requests.keys()]).toEqual([]);
});

test('an unsupported Node.js version is refused before the program is loaded', async () => {
  const manifest = JSON.stringify({ type: 'module', engines: { node: '>=99.7' } });
  const old = await folderWith('old', { 'package.json': manifest });
  await cp(join(ROOT, 'packages/cli/bin'), join(old, 'bin'), { recursive: true });
  await mkdir(join(old, 'dist'));
  await writeFile(join(old, 'dist', 'main.js'), 'this is no JavaScript');
  expect(await run(old, process.execPath, 'bin/tocsin.js', '--version')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `tocsin requires Node.js 99.7 or later. This is ${process.versions.node}.\n`,
  });
});

test('in a clone without installed packages, npx does not ask the registry for a package of this name', async () => {
  const clone = await folderWith('clone', { 'package.json': await readRepositoryFile('package.json') });
  const { code } = await run(clone, 'npx', '--yes', 'tocsin', '--version');
  expect(code).not.toBe(0);
  expect([...registry.requests.keys()]).toEqual([]);
});
