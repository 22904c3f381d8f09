import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ROOT } from '../repository.ts';

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** The workspaces that images may contain. All others are for development. */
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

/** Files that hold secrets, by their names. */
const SECRET_NAMES = /(^|\/)(\.env(\..*)?|\.npmrc|\.git|\.netrc|id_(rsa|ed25519)|.*\.(key|p12|pfx))$/;
/** API keys, keys of a cloud, and private keys. */
const SECRET_TEXT =
  /tocsin_live_[0-9a-f]{48}|AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY-----\r?\n[A-Za-z0-9+/]/;
const MAX_SCANNED_BYTES = 4 * 1024 * 1024;

/**
 * Inspects a copy of the files that an image adds to its base. An empty result means that it contains no package of development, no
 * source, no test and no secret, and that its SBOM lists every package.
 */
export async function inspectContents(folder: string): Promise<string[]> {
  const development = await developmentPackages();
  const packages = await packagesOf(folder);
  const files = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith('node_modules/.pnpm/lock'));
  const own = files.filter(
    (file) => !file.includes('node_modules') || file.includes('node_modules/@tocsin/'),
  );
  const listed = await listedInSbom(folder);
  return [
    ...packages.filter((name) => development.has(name)).map((name) => `${name} is a package of development`),
    ...own
      .filter((file) => /\.test\.|\.ts$|\.map$/.test(file))
      .map((file) => `${file} is a source or a test`),
    ...packages.filter((name) => !listed.has(name)).map((name) => `${name} is not in sbom.cdx.json`),
    ...(packages.length < 20 ? [`only ${packages.length} packages were found`] : []),
    ...files.filter((file) => SECRET_NAMES.test(file)).map((file) => `${file} can hold a secret`),
    ...(await findSecrets(folder, files)),
  ];
}

async function findSecrets(folder: string, files: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const file of files) {
    const { size } = await stat(join(folder, file));
    if (size > MAX_SCANNED_BYTES) continue;
    const [secret] = SECRET_TEXT.exec(await readFile(join(folder, file), 'latin1')) ?? [];
    if (secret !== undefined) found.push(`${file} contains ${secret.slice(0, 16)}…`);
  }
  return found;
}

/** The names of packages that are for development alone. */
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

/** The names of the packages in `node_modules`. */
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
