import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { say } from '@tocsin/lab/command';
import { parse } from 'yaml';
import { readRepositoryFile, ROOT } from '../repository.ts';
import type { Engine } from './engine.ts';

/** Images that are built on a stand-in inherit this label. */
const STAND_IN_LABEL = 'dev.tocsin.stand-in';
const BUILD_STAND_INS = `${ROOT}packages/distribution/stand-ins/build.sh`;
const PULL_SECONDS = 120;

/** Base images of the Dockerfile and the Compose file. */
type BaseImages = Readonly<Record<'node' | 'postgres' | 'redis', string>>;

export async function readBaseImages(): Promise<BaseImages> {
  const [, node] = /^ARG NODE_IMAGE=(\S+)$/m.exec(await readRepositoryFile('Dockerfile')) ?? [];
  const { services } = parse(await readRepositoryFile('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { image: string } | undefined>;
  };
  const { postgres, redis } = services;
  if (node === undefined || !postgres || !redis)
    throw new Error('Dockerfile or docker-compose.yml does not name its base images');
  return { node, postgres: postgres.image, redis: redis.image };
}

/**
 * Pulls the base images that the engine does not have. In an engine that only these tests use, builds a stand-in under the same name for
 * each image that cannot be pulled.
 * @returns the names of the stand-ins @throws EmbeddedError
 */
export async function ensureBaseImages(engine: Engine, images: BaseImages): Promise<string[]> {
  const missing: string[] = [];
  const errors: string[] = [];
  for (const [name, image] of Object.entries(images)) {
    const format = `{{ index .Config.Labels "${STAND_IN_LABEL}" }}`;
    const label = await engine.docker(['image', 'inspect', '--format', format, image]).catch(() => 'true');
    if (label.trim() !== 'true') continue;
    await engine
      .docker(['pull', '--quiet', image], { timeoutSeconds: PULL_SECONDS })
      .catch((error: unknown) => {
        missing.push(`${name}=${image}`);
        errors.push(String(error));
      });
  }
  if (missing.length === 0) return [];
  if (!engine.isOwn) throw new EmbeddedError(errors.join('\n'));
  say(`No registry is reachable. Building stand-ins: ${missing.join(', ')} …`);
  await engine.run(BUILD_STAND_INS, missing);
  return missing;
}
