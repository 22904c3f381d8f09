import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { messagesOfFailed } from '../failures.ts';
import { readManifests } from '../repository.ts';
import type { Engine } from './engine.ts';

/** The images that the Compose file builds. */
export const IMAGES = ['api', 'checker', 'notifier', 'migrate', 'cli'] as const;
type ImageName = (typeof IMAGES)[number];

const BUILD_SECONDS = 3_600;
/** The maximum that an image may add to its base. */
const MAX_ADDED_BYTES = 120_000_000;
const MIN_PACKAGES = 20;
const MAX_SCANNED_BYTES = 4 * 1024 * 1024;

/** The workspaces that images may contain. The others are for development. */
const PRODUCTION = new Set([
  ...['cli', 'contracts', 'core', 'db', 'egress', 'queue', 'runtime'].map((name) => `packages/${name}`),
  ...['api', 'checker', 'notifier'].map((name) => `services/${name}`),
]);
/** Files that usually hold secrets. */
const SECRET_NAMES = /(^|\/)(\.env(\..*)?|\.npmrc|\.git|\.netrc|id_(rsa|ed25519)|.*\.(key|p12|pfx))$/;
/** API keys, cloud keys and private keys. */
const SECRET_TEXT =
  /tocsin_live_[0-9a-f]{48}|AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY-----\r?\n[A-Za-z0-9+/]/;

/** The output of `docker image inspect`. */
const imageSchema = z.tuple([
  z.object({
    Id: z.string(),
    Size: z.number(),
    RootFS: z.object({ Layers: z.array(z.string()) }),
    Config: z.object({
      User: z.string(),
      Env: z.array(z.string()).nullish(),
      StopSignal: z.string().optional(),
      Labels: z.record(z.string(), z.string()).nullish(),
      Healthcheck: z.object({ Test: z.array(z.string()) }).optional(),
    }),
  }),
]);
const sbomSchema = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(z.object({ group: z.string().optional(), name: z.string() })),
});

/** The values of IMAGE_REGISTRY and TOCSIN_VERSION. */
export interface ImageNaming {
  readonly registry: string;
  readonly version: string;
}

/**
 * Builds all images with Compose.
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

export interface InspectedImage {
  readonly name: ImageName;
  readonly reference: string;
  readonly id: string;
  /** Bytes with those of the base, and without. */
  readonly size: number;
  readonly addedBytes: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Each problem names the image. */
  readonly problems: readonly string[];
}

/** Inspects a built image, and a copy of its files in a temporary folder. */
export async function inspectImage(
  engine: Engine,
  name: ImageName,
  { registry, version }: ImageNaming,
  base: string,
  folder: string,
): Promise<InspectedImage> {
  const reference = `${registry}/tocsin/${name}:${version}`;
  const [image, baseImage] = await Promise.all([readImage(engine, reference), readImage(engine, base)]);
  const { User, StopSignal, Healthcheck } = image.Config;
  const [env, labels] = [image.Config.Env ?? [], image.Config.Labels ?? {}];
  const addedBytes = image.Size - baseImage.Size;
  const isChecked = Healthcheck !== undefined && Healthcheck.Test[0] !== 'NONE';
  const isCommand = name === 'migrate' || name === 'cli';
  const isOnBase = baseImage.RootFS.Layers.every((layer, at) => image.RootFS.Layers[at] === layer);
  const secrets = env.filter((line) => /(SECRET|PASSWORD|TOKEN|API_KEY)[^=]*=./.test(line));
  const problems = messagesOfFailed([
    [addedBytes <= MAX_ADDED_BYTES, `adds ${addedBytes} bytes to its base`],
    [isOnBase, `is not built on ${base}`],
    [User === '1000:1000', `runs as ${User || 'root'}`],
    [StopSignal === 'SIGTERM', `has the stop signal ${StopSignal ?? 'of Docker'}`],
    [env.includes('NODE_ENV=production'), 'does not run in production mode'],
    [labels['org.opencontainers.image.version'] === version, 'has no label with its version'],
    [isChecked !== isCommand, 'has the wrong health check'],
    ...secrets.map((line) => [false, `has a secret in its environment: ${line.split('=')[0]}`] as const),
  ]);
  problems.push(...(await inspectFiles(engine, reference, join(folder, name))));
  const { Id: id, Size: size } = image;
  const named = problems.map((problem) => `image ${name}: ${problem}`);
  return { name, reference, id, size, addedBytes, labels, problems: named };
}

async function readImage(engine: Engine, image: string): Promise<z.infer<typeof imageSchema>[0]> {
  return imageSchema.parse(JSON.parse(await engine.docker(['image', 'inspect', image])))[0];
}

async function inspectFiles(engine: Engine, image: string, copy: string): Promise<string[]> {
  await mkdir(copy, { recursive: true });
  // As the current user, who removes the copy.
  const user = `--user=${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const options = ['--rm', user, '--entrypoint=cp', `--volume=${copy}:/copy:z`];
  await engine.docker(['run', ...options, image, '-R', '/app/.', '/copy']);
  try {
    return await inspectContents(copy);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Finds development packages, sources, tests, secrets, and packages missing in the SBOM in a copy of the files of an image. */
export async function inspectContents(folder: string): Promise<string[]> {
  const development = await listDevelopmentPackages();
  const packages = await listPackages(folder);
  const sbom = sbomSchema.parse(JSON.parse(await readFile(join(folder, 'sbom.cdx.json'), 'utf8')));
  const listed = new Set(sbom.components.map(({ group, name }) => (group ? `${group}/${name}` : name)));
  const files = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith('node_modules/.pnpm/lock'));
  const own = files.filter(
    (file) => !file.includes('node_modules') || file.includes('node_modules/@tocsin/'),
  );
  return messagesOfFailed([
    ...packages.map((name) => [!development.has(name), `${name} is a development package`] as const),
    ...packages.map((name) => [listed.has(name), `${name} is not in sbom.cdx.json`] as const),
    [packages.length >= MIN_PACKAGES, `only ${packages.length} packages were found`],
    ...own.map((file) => [!/\.test\.|\.ts$|\.map$/.test(file), `${file} is a source or a test`] as const),
    ...files.map((file) => [!SECRET_NAMES.test(file), `${file} can hold a secret`] as const),
  ]).concat(await findSecrets(folder, files));
}

async function findSecrets(folder: string, files: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const file of files) {
    if ((await stat(join(folder, file))).size > MAX_SCANNED_BYTES) continue;
    const [secret] = SECRET_TEXT.exec(await readFile(join(folder, file), 'latin1')) ?? [];
    if (secret !== undefined) found.push(`${file} contains ${secret.slice(0, 16)}…`);
  }
  return found;
}

/** The packages that only development needs. */
async function listDevelopmentPackages(): Promise<Set<string>> {
  const production = new Set<string>();
  const development = new Set<string>();
  for (const [path, { name, dependencies = {}, devDependencies = {} }] of await readManifests()) {
    const used = PRODUCTION.has(dirname(path)) ? production : development;
    for (const each of [name, ...Object.keys(dependencies)]) used.add(each);
    for (const each of Object.keys(devDependencies)) development.add(each);
  }
  return new Set([...development].filter((name) => !production.has(name)));
}

/** The packages in `node_modules`. */
async function listPackages(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, 'node_modules', '.pnpm'));
  const names = entries.flatMap(
    (entry) => /^(@[^+]+\+[^@]+|[^@]+)@/.exec(entry)?.[1]?.replace('+', '/') ?? [],
  );
  return [...new Set(names)];
}
