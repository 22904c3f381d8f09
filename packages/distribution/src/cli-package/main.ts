import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { readRepositoryFile, ROOT } from '../repository.ts';

const SOURCE = 'packages/cli';
/** The package is one bundled file, so that nothing else is downloaded when it is installed. */
const OMITTED_FIELDS = new Set(['private', 'scripts', 'exports', 'dependencies', 'devDependencies']);

/**
 * Packs `packages/cli` as the npm package that users install, without a build or network access.
 * @param folder created if missing
 * @returns the path of the tarball, `<folder>/tocsin-monitor-cli-<version>.tgz`
 */
async function packCli(folder: string): Promise<string> {
  const staging = await mkdtemp(join(tmpdir(), 'tocsin-cli-package-'));
  try {
    const modules = await bundle(join(staging, 'dist', 'main.js'));
    await writeFile(join(staging, 'THIRD-PARTY-LICENSES'), await thirdPartyLicenses(modules));
    const manifest = JSON.parse(await readRepositoryFile(`${SOURCE}/package.json`)) as object;
    const published = Object.entries(manifest).filter(([field]) => !OMITTED_FIELDS.has(field));
    const text = JSON.stringify(Object.fromEntries(published), null, 2);
    await writeFile(join(staging, 'package.json'), `${text}\n`);
    await cp(join(ROOT, SOURCE, 'bin'), join(staging, 'bin'), { recursive: true });
    await copyFile(join(ROOT, SOURCE, 'README.md'), join(staging, 'README.md'));
    await copyFile(join(ROOT, 'LICENSE'), join(staging, 'LICENSE'));
    // On Windows, only a shell finds npm.cmd. No argument needs quoting.
    const options = { cwd: staging, shell: process.platform === 'win32' };
    const { stdout } = await promisify(execFile)('npm', ['pack', '--json', '--ignore-scripts'], options);
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
    await mkdir(folder, { recursive: true });
    await copyFile(join(staging, filename), join(folder, filename));
    return join(folder, filename);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Writes the bundle. @returns the paths of the modules in it */
async function bundle(file: string): Promise<readonly string[]> {
  const build = await rolldown({
    cwd: ROOT,
    input: join(SOURCE, 'src', 'main.ts'),
    platform: 'node',
    resolve: { conditionNames: ['tocsin-source', 'node', 'import', 'default'] },
  });
  try {
    const { output } = await build.write({ file, format: 'esm', codeSplitting: false });
    return output[0].moduleIds;
  } finally {
    await build.close();
  }
}

/** Collects the license notices of bundled packages. @throws Error if a package has no license file */
async function thirdPartyLicenses(modules: readonly string[]): Promise<string> {
  const folders = new Set(
    modules.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path.replaceAll('\\', '/')) ?? []),
  );
  const notices = await Promise.all(
    [...folders].map(async (folder) => {
      const manifest = await readFile(join(folder, 'package.json'), 'utf8');
      const { name, version, license } = JSON.parse(manifest) as Readonly<Record<string, string>>;
      const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
      if (file === undefined) throw new Error(`${name} has no license file to include`);
      const text = await readFile(join(folder, file), 'utf8');
      return `${name} ${version} (${license ?? 'see below'})\n\n${text.trim()}\n`;
    }),
  );
  return notices.toSorted().join(`\n${'-'.repeat(80)}\n\n`);
}

/**
 * `npm run -s pack:cli -- FOLDER`: writes the npm package into the folder, and prints its path.
 * @public called by `bootstrap.js`
 */
export async function main([folder]: readonly string[]): Promise<void> {
  if (folder !== undefined) process.stdout.write(`${await packCli(resolve(folder))}\n`);
  else {
    process.stderr.write('Usage: npm run -s pack:cli -- FOLDER\n');
    process.exitCode = 1;
  }
}
