import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { ROOT } from '../repository.ts';
import type { Engine } from './engine.ts';

/** The images that the Compose file builds. */
export const IMAGES = ['api', 'checker', 'notifier', 'migrate', 'cli'] as const;
export type ImageName = (typeof IMAGES)[number];

const BUILD_SECONDS = 3_600;
/** What an image may add to its base, bytes. */
const MAX_ADDED_BYTES = 120_000_000;

const imageSchema = z.tuple([
  z.object({
    Size: z.number(),
    RootFS: z.object({ Layers: z.array(z.string()) }),
    Config: z.object({
      User: z.string(),
      Env: z.array(z.string()),
      StopSignal: z.string(),
      Labels: z.record(z.string(), z.string()),
      Healthcheck: z.object({ Test: z.array(z.string()) }).optional(),
    }),
  }),
]);

/** How the images are named; the values of IMAGE_REGISTRY and TOCSIN_VERSION for Compose. */
export interface ImageNaming {
  readonly registry: string;
  readonly version: string;
}

export function imageOf(name: ImageName, { registry, version }: ImageNaming): string {
  return `${registry}/tocsin/${name}:${version}`;
}

/**
 * Builds images through Compose.
 * @param source a copy of the repository
 * @param env further variables of the Compose file
 */
export async function buildImages(
  engine: Engine,
  source: string,
  { registry, version }: ImageNaming,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  // Compose requires the secrets, but no image gets them.
  const secrets = { POSTGRES_PASSWORD: 'x', REDIS_PASSWORD: 'x', SECRETS_KEY: 'x' };
  await engine.docker(['compose', '--profile', 'cli', 'build'], {
    cwd: source,
    env: { ...secrets, ...env, IMAGE_REGISTRY: registry, TOCSIN_VERSION: version },
    timeoutSeconds: BUILD_SECONDS,
  });
}

/** What an image adds to its base, and what is wrong with it. */
export interface ImageReport {
  readonly name: ImageName;
  readonly addedBytes: number;
  readonly problems: readonly string[];
}

/** Inspects one built image. @param folder a temporary one, for a copy of its files */
export async function inspectImage(
  engine: Engine,
  name: ImageName,
  naming: ImageNaming,
  base: string,
  folder: string,
): Promise<ImageReport> {
  const [image] = imageSchema.parse(await inspect(engine, imageOf(name, naming)));
  const [baseImage] = z
    .tuple([z.object({ Size: z.number(), RootFS: z.object({ Layers: z.array(z.string()) }) })])
    .parse(await inspect(engine, base));
  const { Config: config } = image;
  const addedBytes = image.Size - baseImage.Size;
  const problems = [
    ...(addedBytes > MAX_ADDED_BYTES ? [`adds ${addedBytes} bytes to its base`] : []),
    ...(baseImage.RootFS.Layers.every((layer, at) => image.RootFS.Layers[at] === layer)
      ? []
      : [`is not built on ${base}`]),
    ...(config.User === '1000:1000' ? [] : [`runs as ${config.User || 'root'}`]),
    ...(config.StopSignal === 'SIGTERM' ? [] : [`stops by ${config.StopSignal}`]),
    ...(config.Env.includes('NODE_ENV=production') ? [] : ['does not run in production mode']),
    ...config.Env.filter((line) => /(SECRET|PASSWORD|TOKEN|API_KEY)[^=]*=./.test(line)).map(
      (line) => `has a secret in its environment: ${line.split('=')[0] ?? ''}`,
    ),
    ...(config.Labels['org.opencontainers.image.version'] === naming.version
      ? []
      : ['does not say its version in a label']),
    ...(hasHealthCheck(name) === (config.Healthcheck !== undefined && config.Healthcheck.Test[0] !== 'NONE')
      ? []
      : ['has the wrong health check']),
    ...(await inspectFiles(engine, name, naming, folder)),
  ];
  return { name, addedBytes, problems };
}

/** One-shot commands have no health check. */
function hasHealthCheck(name: ImageName): boolean {
  return name !== 'migrate' && name !== 'cli';
}

async function inspect(engine: Engine, image: string): Promise<unknown> {
  return JSON.parse(await engine.docker(['image', 'inspect', image])) as unknown;
}

async function inspectFiles(
  engine: Engine,
  name: ImageName,
  naming: ImageNaming,
  folder: string,
): Promise<string[]> {
  const copy = join(folder, name);
  await mkdir(copy, { recursive: true });
  // As this user, who removes the copy.
  const user = `--user=${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const options = ['--rm', user, '--entrypoint=cp', `--volume=${copy}:/copy:z`];
  await engine.docker(['run', ...options, imageOf(name, naming), '-R', '/app/.', '/copy']);
  try {
    return await inspectContents(copy);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

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
