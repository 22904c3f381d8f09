import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isRoot, relocatedFolder } from '../server-folder.ts';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { prepareServiceUser, type ServiceUser } from './service-user.ts';

const SERVICES = [join('services', 'api')];
/** Prints its user, its imports, and the files that its settings name. */
const SERVICE = `
import { readFileSync } from 'node:fs';
import { own } from '@tocsin/own/own';
const { CHECK_CA_FILE, DASHBOARD_DIR, DATABASE_URL } = process.env;
const key = new URL(DATABASE_URL).searchParams.get('sslkey');
const files = [CHECK_CA_FILE, DASHBOARD_DIR + '/index.html', key].map((file) => readFileSync(file, 'utf8'));
console.log(JSON.stringify({ uid: process.getuid(), own, files }));
`;

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
const made: string[] = [];
beforeEach(async () => {
  folder = await createTemporaryFolder();
});
afterEach(async () => {
  await folder.remove();
  for (const path of made.splice(0)) await rm(path, { recursive: true, force: true });
});

async function put(path: string, text: string): Promise<string> {
  const file = join(folder.path, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

async function link(path: string, to: string): Promise<void> {
  await mkdir(dirname(join(folder.path, path)), { recursive: true });
  await symlink(to, join(folder.path, path));
}

const packageOf = (name: string, dependencies: object = {}): string =>
  JSON.stringify({
    name,
    type: 'module',
    exports: { '.': './index.js', './*': './dist/*.js' },
    dependencies,
  });

/** A checkout as pnpm creates it: a service, a workspace package, a package of the store, and a dependency of that package. */
async function makeCheckout(): Promise<string> {
  const root = 'home/tocsin';
  const [direct, deep] = ['direct@1/node_modules/direct', '@scope+deep@1/node_modules/@scope/deep'];
  const packages: Readonly<Record<string, [manifest: string, file: string, text: string]>> = {
    'services/api': [packageOf('@tocsin/api', { '@tocsin/own': '1' }), 'dist/main.js', SERVICE],
    'packages/own': [
      packageOf('@tocsin/own', { direct: '1' }),
      'dist/own.js',
      `import { deep } from 'direct';\nexport const own = deep;\n`,
    ],
    [`node_modules/.pnpm/${direct}`]: [
      packageOf('direct'),
      'index.js',
      `export { deep } from '@scope/deep';\n`,
    ],
    [`node_modules/.pnpm/${deep}`]: [packageOf('@scope/deep'), 'index.js', `export const deep = 'first';\n`],
  };
  for (const [path, [manifest, file, text]] of Object.entries(packages)) {
    await put(`${root}/${path}/package.json`, manifest);
    await put(`${root}/${path}/${file}`, text);
  }
  await link(`${root}/services/api/node_modules/@tocsin/own`, '../../../../packages/own');
  await link(`${root}/packages/own/node_modules/direct`, `../../../node_modules/.pnpm/${direct}`);
  await link(`${root}/node_modules/.pnpm/direct@1/node_modules/@scope/deep`, `../../../${deep}`);
  return join(folder.path, root);
}

async function prepare(root: string): Promise<ServiceUser> {
  const dataDir = join(root, '.data');
  const user = await prepareServiceUser({
    root,
    services: SERVICES,
    dataDir,
    env: {
      PATH: process.env['PATH'],
      CHECK_CA_FILE: await put('home/ca.pem', 'ca'),
      DASHBOARD_DIR: dirname(await put('home/tocsin/pages/index.html', 'page')),
      DATABASE_URL: `postgres://db.example/tocsin?sslmode=verify-full&sslkey=${encodeURIComponent(await put('home/client key.pem', 'key'))}`,
    },
  });
  const relocated = await relocatedFolder(join(dataDir, 'services'));
  const files = dirname(user.env['CHECK_CA_FILE'] ?? '');
  for (const path of [relocated, files, user.root, user.env['DASHBOARD_DIR']])
    if (path?.startsWith('/var/lib/tocsin/')) made.push(path, `${path}.stamp`);
  return user;
}

function run({ node, root, owner, env }: ServiceUser): unknown {
  const { status, stdout, stderr } = spawnSync(node, [join(root, 'services', 'api', 'dist', 'main.js')], {
    ...owner,
    env,
    cwd: '/',
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

// Only root can start a process as another user.
(isRoot() ? describe : describe.skip)('services that root starts', () => {
  it('run as another user when only root can read the checkout', async () => {
    const root = await makeCheckout();
    await chmod(join(folder.path, 'home'), 0o700);
    const user = await prepare(root);
    expect(user.root).not.toBe(root);
    const expected = { uid: user.owner?.uid, own: 'first', files: ['ca', 'page', 'key'] };
    expect(user.owner?.uid).not.toBe(0);
    expect(run(user)).toEqual(expected);
    // A new build must be copied again.
    await put('home/tocsin/packages/own/dist/own.js', `export const own = 'second, and longer';\n`);
    expect(run(await prepare(root))).toEqual({ ...expected, own: 'second, and longer' });
  });

  it('get files that a symbolic link in their folder cannot redirect', async () => {
    const root = await makeCheckout();
    await chmod(join(folder.path, 'home'), 0o700);
    const user = await prepare(root);
    const ofRoot = await put('of-root', 'a secret of root');
    await chmod(ofRoot, 0o600);
    const plant = `
      const { rmSync, symlinkSync } = require('node:fs');
      const { CHECK_CA_FILE, HOME } = process.env;
      for (const file of [CHECK_CA_FILE, HOME + '/CHECK_CA_FILE'])
        try { rmSync(file, { force: true }); symlinkSync(${JSON.stringify(ofRoot)}, file); } catch {}
    `;
    expect(spawnSync(user.node, ['-e', plant], { ...user.owner, env: user.env, cwd: '/' }).status).toBe(0);
    const expected = { uid: user.owner?.uid, own: 'first', files: ['ca', 'page', 'key'] };
    expect(run(await prepare(root))).toEqual(expected);
    const { uid, mode } = await stat(ofRoot);
    expect([await readFile(ofRoot, 'utf8'), uid, mode & 0o777]).toEqual(['a secret of root', 0, 0o600]);
  });
});
