import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { messagesOfFailed } from '../failures.ts';
import { readManifests } from '../repository.ts';
import type { Engine } from './engine.ts';

/** The images that the Compose file builds. */
export const IMAGES = ['api', 'checker', 'notifier', 'agent', 'migrate', 'cli'] as const;

const BUILD_SECONDS = 3_600;
/** Build arguments, which labels repeat. */
const REVISION = 'test-revision';
const CREATED = '2026-01-01T00:00:00Z';
/** Maximum bytes that an image adds to its base image, because branch offices may have slow links. */
const MAX_ADDED_BYTES = 120_000_000;
const MAX_ADDED_AGENT_BYTES = 50_000_000;
const MIN_PACKAGES = 20;
const MAX_SCANNED_BYTES = 4 * 1024 * 1024;

/** The workspaces that images may contain. The others are for development. */
const PRODUCTION =
  /^(packages\/(cli|contracts|core|db|egress|probe|queue|runtime)|services\/(agent|api|checker|notifier|operator))\//;
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
      Env: z
        .array(z.string())
        .nullish()
        .transform((lines) => lines ?? []),
      StopSignal: z.string().optional(),
      Labels: z
        .record(z.string(), z.string())
        .nullish()
        .transform((labels) => labels ?? {}),
      Healthcheck: z.object({ Test: z.array(z.string()) }).optional(),
    }),
  }),
]);
const sbomSchema = z.object({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.object({ component: z.object({ version: z.string() }) }),
  components: z.array(z.object({ group: z.string().optional(), name: z.string() })),
});

/** The values of IMAGE_REGISTRY and TOCSIN_VERSION. */
export interface ImageNaming {
  readonly registry: string;
  readonly version: string;
}

/** Builds all images with Compose. @param source a copy of the repository */
export async function buildImages(
  engine: Engine,
  source: string,
  { registry, version }: ImageNaming,
): Promise<void> {
  // Compose requires the secrets, but no image gets them.
  const secrets = { POSTGRES_PASSWORD: 'x', REDIS_PASSWORD: 'x', SECRETS_KEY: 'x' };
  const origin = { TOCSIN_REVISION: REVISION, TOCSIN_CREATED: CREATED };
  await engine.docker(['compose', '--profile', 'cli', '--profile', 'agent', 'build'], {
    cwd: source,
    env: { ...secrets, ...origin, IMAGE_REGISTRY: registry, TOCSIN_VERSION: version },
    timeoutSeconds: BUILD_SECONDS,
  });
}

/**
 * Inspects a built image, and a copy of its files in a temporary folder.
 * @returns the number of bytes added to the base image, and the problems, which name the image
 */
export async function inspectImage(
  engine: Engine,
  name: (typeof IMAGES)[number],
  { registry, version }: ImageNaming,
  base: string,
  folder: string,
): Promise<{ readonly addedBytes: number; readonly problems: readonly string[] }> {
  const reference = `${registry}/tocsin/${name}:${version}`;
  const [image, baseImage] = await Promise.all([readImage(engine, reference), readImage(engine, base)]);
  const { User, StopSignal, Healthcheck, Env, Labels } = image.Config;
  const addedBytes = image.Size - baseImage.Size;
  const isChecked = Healthcheck !== undefined && Healthcheck.Test[0] !== 'NONE';
  const isCommand = name === 'migrate' || name === 'cli';
  const isOnBase = baseImage.RootFS.Layers.every((layer, at) => image.RootFS.Layers[at] === layer);
  const secrets = Env.filter((line) => /(SECRET|PASSWORD|TOKEN|API_KEY)[^=]*=./.test(line));
  const labels = Object.entries({ version, revision: REVISION, created: CREATED, 'base.name': base });
  const problems = messagesOfFailed([
    [
      addedBytes <= (name === 'agent' ? MAX_ADDED_AGENT_BYTES : MAX_ADDED_BYTES),
      `adds ${addedBytes} bytes to its base`,
    ],
    [isOnBase, `is not built on ${base}`],
    [User === '1000:1000', `runs as ${User || 'root'}`],
    [StopSignal === 'SIGTERM', `has the stop signal ${StopSignal ?? 'of Docker'}`],
    [Env.includes('NODE_ENV=production'), 'does not run in production mode'],
    [isChecked !== isCommand, 'has the wrong health check'],
    ...labels.map(
      ([label, value]) =>
        [
          Labels[`org.opencontainers.image.${label}`] === value,
          `does not have the ${label} ${value} as a label`,
        ] as const,
    ),
    ...secrets.map((line) => [false, `has a secret in its environment: ${line.split('=')[0]}`] as const),
  ]);
  problems.push(...(await inspectFiles(engine, reference, join(folder, name))));
  return { addedBytes, problems: problems.map((problem) => `image ${name}: ${problem}`) };
}

async function readImage(engine: Engine, image: string): Promise<z.infer<typeof imageSchema>[0]> {
  return imageSchema.parse(JSON.parse(await engine.docker(['image', 'inspect', image])))[0];
}

async function inspectFiles(engine: Engine, image: string, copy: string): Promise<string[]> {
  await mkdir(copy, { recursive: true });
  // The current user removes the copy.
  const user = `--user=${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const options = ['--rm', user, '--entrypoint=cp', `--volume=${copy}:/copy:z`];
  await engine.docker(['run', ...options, image, '-R', '/app/.', '/copy']);
  try {
    return await inspectContents(copy);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Finds development packages, sources, tests, secrets and SBOM defects in a copy of an image's files. */
export async function inspectContents(folder: string): Promise<string[]> {
  const { version, development } = await readWorkspaces();
  const entries = await readdir(join(folder, 'node_modules', '.pnpm'));
  const packages = new Set(
    entries.flatMap((entry) => /^(@[^+]+\+[^@]+|[^@]+)@/.exec(entry)?.[1]?.replace('+', '/') ?? []),
  );
  const sbom = sbomSchema.parse(JSON.parse(await readFile(join(folder, 'sbom.cdx.json'), 'utf8')));
  const described = sbom.metadata.component.version;
  const listed = new Set(sbom.components.map(({ group, name }) => (group ? `${group}/${name}` : name)));
  const files = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith('node_modules/.pnpm/lock'));
  const own = files.filter(
    (file) => !file.includes('node_modules') || file.includes('node_modules/@tocsin/'),
  );
  const secrets: string[] = [];
  for (const file of files) {
    if ((await stat(join(folder, file))).size > MAX_SCANNED_BYTES) continue;
    const [secret] = SECRET_TEXT.exec(await readFile(join(folder, file), 'latin1')) ?? [];
    if (secret !== undefined) secrets.push(`${file} contains ${secret.slice(0, 16)}…`);
  }
  return messagesOfFailed([
    ...[...packages].flatMap((name) => [
      [!development.has(name), `${name} is a development package`] as const,
      [listed.has(name), `${name} is not in sbom.cdx.json`] as const,
    ]),
    [packages.size >= MIN_PACKAGES, `only ${packages.size} packages were found`],
    [described === version, `sbom.cdx.json describes version ${described}`],
    ...own.map((file) => [!/\.test\.|\.ts$|\.map$/.test(file), `${file} is a source or a test`] as const),
    ...files.map((file) => [!SECRET_NAMES.test(file), `${file} can hold a secret`] as const),
  ]).concat(secrets);
}

/** Returns the version of the repository, and the packages that only development needs. */
async function readWorkspaces(): Promise<{ version: string; development: ReadonlySet<string> }> {
  const manifests = await readManifests();
  const namesOf = (isProduction: boolean): string[] =>
    manifests.flatMap(([path, { name, dependencies = {}, devDependencies = {} }]) => [
      ...(PRODUCTION.test(path) === isProduction ? [name, ...Object.keys(dependencies)] : []),
      ...(isProduction ? [] : Object.keys(devDependencies)),
    ]);
  const production = new Set(namesOf(true));
  return {
    version: manifests[0]?.[1].version ?? '',
    development: new Set(namesOf(false).filter((name) => !production.has(name))),
  };
}
