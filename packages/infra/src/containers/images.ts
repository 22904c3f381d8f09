import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Engine } from './engine.ts';
import { inspectContents } from './image-contents.ts';

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
