import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { installByApt } from '@tocsin/embedded/test-run/programs';
import { parse } from 'yaml';
import { readRepositoryFile } from '../repository.ts';
import { findProgram, runTool } from '../run-tool.ts';
import type { Engine } from './engine.ts';

/** Images built on a stand-in inherit it. */
export const STAND_IN_LABEL = 'dev.tocsin.stand-in';
const DEBIAN_IMAGE = 'tocsin-stand-in/debian:bookworm';
const PULL_SECONDS = 120;

/** The images that the Dockerfile and the Compose file build on. */
export interface BaseImages {
  readonly node: string;
  readonly postgres: string;
  readonly redis: string;
}

/** Reads their names where they are stated. */
export async function readBaseImages(): Promise<BaseImages> {
  const [, node] = /^ARG NODE_IMAGE=(\S+)$/m.exec(await readRepositoryFile('Dockerfile')) ?? [];
  const { services } = parse(await readRepositoryFile('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { image: string } | undefined>;
  };
  const { postgres, redis } = services;
  if (node === undefined || !postgres || !redis)
    throw new Error('the base images are not where they are expected');
  return { node, postgres: postgres.image, redis: redis.image };
}

/**
 * Makes sure that the engine has every base image. Those that cannot be pulled are built from Debian's packages and the `node` package
 * of npm, under the same name: only in an engine of our own, where nobody takes them for the real ones.
 * @returns the names of the stand-ins
 */
export async function ensureBaseImages(
  engine: Engine,
  images: BaseImages,
  say: (line: string) => void,
  names: readonly (keyof BaseImages)[] = ['node', 'postgres', 'redis'],
): Promise<string[]> {
  const errors = new Map<keyof BaseImages, string>();
  await Promise.all(
    names.map(async (name) => {
      const error = (await isAvailable(engine, images[name])) ? null : await pull(engine, images[name]);
      if (error !== null) errors.set(name, error);
    }),
  );
  const missing = names.filter((name) => errors.has(name));
  if (missing.length === 0) return [];
  const references = missing.map((name) => images[name]);
  if (!engine.isOwn) throw new EmbeddedError([...errors.values()].join('\n'));
  say(`No registry is reachable. Building stand-ins of ${references.join(', ')} …`);
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-stand-ins-'));
  try {
    await importDebian(engine, folder);
    for (const name of missing) {
      const context = join(folder, name);
      await mkdir(context, { recursive: true });
      const dockerfile = await STAND_INS[name](context, images[name]);
      await writeFile(join(context, 'Dockerfile'), `${dockerfile}LABEL ${STAND_IN_LABEL}=true\n`);
      await engine.docker(['build', '--tag', images[name], context]);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return references;
}

/** Whether the engine has the image. A stand-in counts as missing: the real image may be reachable by now. */
async function isAvailable(engine: Engine, image: string): Promise<boolean> {
  const format = `{{ index .Config.Labels "${STAND_IN_LABEL}" }}`;
  try {
    const label = await engine.docker(['image', 'inspect', '--format', format, image]);
    return label.trim() !== 'true';
  } catch {
    return false;
  }
}

/** @returns why it could not be pulled, null if it was */
async function pull(engine: Engine, image: string): Promise<string | null> {
  try {
    await engine.docker(['pull', '--quiet', image], { timeoutSeconds: PULL_SECONDS });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function importDebian(engine: Engine, folder: string): Promise<void> {
  if ((await engine.docker(['image', 'ls', '--quiet', DEBIAN_IMAGE])).trim() !== '') return;
  if (findProgram('mmdebstrap') === null) installByApt('mmdebstrap', () => undefined);
  const archive = join(folder, 'debian.tar');
  await runTool('mmdebstrap', [
    '--variant=minbase',
    '--include=ca-certificates,netbase',
    'bookworm',
    archive,
  ]);
  await engine.docker(['import', archive, DEBIAN_IMAGE]);
}

/** Each writes what the build needs into the folder, and returns the Dockerfile. */
const STAND_INS: Record<keyof BaseImages, (context: string, image: string) => Promise<string>> = {
  async node(context, image) {
    const [, major = ''] = /:(\d+)/.exec(image) ?? [];
    const packages = [`node-linux-${process.arch}@${major}`, 'npm@11'];
    await runTool('npm', ['install', '--no-save', '--prefix', context, ...packages]);
    // A machine whose registry is behind a proxy needs the proxy's certificate authority in the build, too.
    const authority = process.env['NODE_EXTRA_CA_CERTS'];
    if (authority !== undefined) await copyFile(authority, join(context, 'authorities.pem'));
    else await writeFile(join(context, 'authorities.pem'), '');
    return `FROM ${DEBIAN_IMAGE}
RUN useradd --uid 1000 --user-group --create-home --shell /bin/bash node
COPY node_modules/node-linux-${process.arch}/bin/node /usr/local/bin/
COPY node_modules/npm /usr/local/lib/node_modules/npm
COPY authorities.pem /usr/local/share/
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \\
  && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
ENV NODE_EXTRA_CA_CERTS=/usr/local/share/authorities.pem
CMD ["node"]
`;
  },

  async postgres(context) {
    await writeFile(join(context, 'start.sh'), START_POSTGRES);
    return `FROM ${DEBIAN_IMAGE}
RUN apt-get update && apt-get install -y --no-install-recommends postgresql && rm -rf /var/lib/apt/lists/*
ENV PATH=/usr/lib/postgresql/15/bin:$PATH
COPY start.sh /
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
USER postgres
CMD ["sh", "/start.sh"]
`;
  },

  async redis() {
    return Promise.resolve(`FROM ${DEBIAN_IMAGE}
RUN apt-get update && apt-get install -y --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/*
RUN mkdir /data && chown redis:redis /data
VOLUME /data
WORKDIR /data
USER redis
CMD ["redis-server", "--protected-mode", "no"]
`);
  },
};

/** What the official image's entrypoint does with its variables, as far as the Compose file uses them. */
const START_POSTGRES = `set -eu
data=/var/lib/postgresql/data
if [ ! -s "$data/PG_VERSION" ]; then
  printf '%s\\n' "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata="$data" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
  rm /tmp/password
  printf 'host all all all scram-sha-256\\n' >> "$data/pg_hba.conf"
  printf 'create database "%s"' "$POSTGRES_DB" | postgres --single -D "$data" postgres
fi
exec postgres -D "$data" -c listen_addresses='*' -k /tmp
`;
