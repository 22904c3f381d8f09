import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../repository.ts';

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** What is in production: all else in the tree is for development. */
const PRODUCTION = new Set([
  'packages/cli',
  'packages/contracts',
  'packages/core',
  'packages/db',
  'packages/egress',
  'packages/queue',
  'packages/runtime',
  'services/api',
  'services/checker',
  'services/notifier',
]);

/** What is wrong with what an image holds; empty where all is well. */
export async function judgeContents(folder: string): Promise<string[]> {
  const development = await developmentPackages();
  const packages = await packagesOf(folder);
  const files = (await readdir(folder, { recursive: true })).filter(
    (file) => !file.startsWith('node_modules/.pnpm/lock'),
  );
  const own = files.filter(
    (file) => !file.includes('node_modules') || file.includes('node_modules/@tocsin/'),
  );
  const listed = await listedInSbom(folder);
  return [
    ...packages.filter((name) => development.has(name)).map((name) => `${name} is for development`),
    ...own.filter((file) => /\.test\.|\.ts$|\.map$/.test(file)).map((file) => `${file} is for development`),
    ...packages.filter((name) => !listed.has(name)).map((name) => `${name} is not in sbom.cdx.json`),
    ...(packages.length < 20 ? [`only ${packages.length} packages were found`] : []),
  ];
}

/** The names of packages that only development has. */
async function developmentPackages(): Promise<Set<string>> {
  const manifests = new Map<string, Manifest>();
  for (const parent of ['packages', 'services']) {
    for (const name of await readdir(join(ROOT, parent))) {
      if (!existsSync(join(ROOT, parent, name, 'package.json'))) continue;
      manifests.set(`${parent}/${name}`, await readManifest(join(ROOT, parent, name)));
    }
  }
  const inProduction = new Set<string>();
  const inDevelopment = new Set(Object.keys((await readManifest(ROOT)).devDependencies ?? {}));
  for (const [path, { name, dependencies = {}, devDependencies = {} }] of manifests) {
    const isProduction = PRODUCTION.has(path);
    for (const each of [name, ...Object.keys(dependencies)])
      (isProduction ? inProduction : inDevelopment).add(each);
    for (const each of Object.keys(devDependencies)) inDevelopment.add(each);
  }
  return new Set([...inDevelopment].filter((name) => !inProduction.has(name)));
}

async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** The names of the packages that are installed there. */
async function packagesOf(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, 'node_modules', '.pnpm'));
  const names = entries.flatMap(
    (entry) => /^(@[^+]+\+[^@]+|[^@]+)@/.exec(entry)?.[1]?.replace('+', '/') ?? [],
  );
  return [...new Set(names)];
}

async function listedInSbom(folder: string): Promise<Set<string>> {
  const sbom = JSON.parse(await readFile(join(folder, 'sbom.cdx.json'), 'utf8')) as {
    readonly bomFormat: string;
    readonly components: readonly { readonly group?: string; readonly name: string }[];
  };
  if (sbom.bomFormat !== 'CycloneDX') throw new Error('sbom.cdx.json is not CycloneDX');
  return new Set(sbom.components.map(({ group, name }) => (group ? `${group}/${name}` : name)));
}
