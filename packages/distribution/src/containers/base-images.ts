import { appendFile, copyFile, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { installByApt } from '@tocsin/embedded/test-run/programs';
import { say } from '@tocsin/lab/command';
import { parse } from 'yaml';
import { readRepositoryFile, ROOT } from '../repository.ts';
import { isOnPath, runTool } from '../run-tool.ts';
import type { Engine } from './engine.ts';

/** The label of stand-ins. Images that are built on one inherit it. */
export const STAND_IN_LABEL = 'dev.tocsin.stand-in';
/** The base of the Dockerfiles in `stand-ins`. */
const DEBIAN_IMAGE = 'tocsin-stand-in/debian:bookworm';
const STAND_INS = join(ROOT, 'packages/distribution/stand-ins');
const PULL_SECONDS = 120;

/** The images that the Dockerfile and the Compose file build on. */
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
 * Pulls the base images that the engine does not have. Images that cannot be pulled are built from packages of Debian and npm under the
 * same name, but only in an engine that these tests alone use, where they cannot be mistaken for the real images.
 * @returns the names of the stand-ins
 */
export async function ensureBaseImages(
  engine: Engine,
  images: BaseImages,
  names: readonly (keyof BaseImages)[] = ['node', 'postgres', 'redis'],
): Promise<string[]> {
  const pulls = await Promise.allSettled(names.map((name) => pull(engine, images[name])));
  const errors = pulls.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  if (errors.length === 0) return [];
  if (!engine.isOwn) throw new EmbeddedError(errors.join('\n'));
  const missing = names.filter((_, index) => pulls[index]?.status === 'rejected');
  const references = missing.map((name) => images[name]);
  say(`No registry is reachable. Building stand-ins for ${references.join(', ')} …`);
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-stand-ins-'));
  try {
    await cp(STAND_INS, folder, { recursive: true });
    await importDebian(engine, folder);
    if (missing.includes('node')) await addNode(join(folder, 'node'), images.node);
    for (const name of missing) {
      await appendFile(join(folder, name, 'Dockerfile'), `LABEL ${STAND_IN_LABEL}=true\n`);
      await engine.docker(['build', '--tag', images[name], join(folder, name)]);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return references;
}

/** Pulls an image that is missing or a stand-in: the real one may be reachable by now. @throws ToolError */
async function pull(engine: Engine, image: string): Promise<void> {
  const format = `{{ index .Config.Labels "${STAND_IN_LABEL}" }}`;
  const label = await engine.docker(['image', 'inspect', '--format', format, image]).catch(() => 'true');
  if (label.trim() === 'true')
    await engine.docker(['pull', '--quiet', image], { timeoutSeconds: PULL_SECONDS });
}

async function importDebian(engine: Engine, folder: string): Promise<void> {
  if ((await engine.docker(['image', 'ls', '--quiet', DEBIAN_IMAGE])).trim() !== '') return;
  if (!isOnPath('mmdebstrap')) installByApt('mmdebstrap', () => undefined);
  const archive = join(folder, 'debian.tar');
  const packages = '--include=ca-certificates,netbase';
  await runTool('mmdebstrap', ['--variant=minbase', packages, 'bookworm', archive]);
  await engine.docker(['import', archive, DEBIAN_IMAGE]);
}

/** Adds Node.js of the image's major version, npm, and certificate authorities to the context of the build. */
async function addNode(context: string, image: string): Promise<void> {
  const [, major = ''] = /:(\d+)/.exec(image) ?? [];
  const packages = [`node-linux-${process.arch}@${major}`, 'npm@11'];
  await runTool('npm', ['install', '--no-save', '--prefix', context, ...packages]);
  // If the registry is behind a proxy with a certificate authority of its own, the build of the images needs that authority, too.
  const authority = process.env['NODE_EXTRA_CA_CERTS'];
  const target = join(context, 'authorities.pem');
  await (authority === undefined ? writeFile(target, '') : copyFile(authority, target));
}
