import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { findFreePort } from '@tocsin/embedded/ports';
import { startPostgres } from '@tocsin/embedded/postgres';
import { runProgram } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { startRedis } from '@tocsin/embedded/redis';
import { ROOT } from '../repository.ts';
import { Container } from './container.ts';
import { readImage } from './dockerfile.ts';
import { judgeContents } from './judge-contents.ts';
import { useSystem } from './use-system.ts';

const SERVICES = ['api', 'checker', 'notifier'] as const;
type ServiceName = (typeof SERVICES)[number];
const IMAGES = [...SERVICES, 'cli'] as const;
type ImageName = (typeof IMAGES)[number];

/**
 * `npm run test:images`: what the Dockerfile does, as far as that goes without an engine. Puts the images' contents together by the
 * same script, judges them, and runs their commands against a real PostgreSQL and Redis.
 * @public called by `bootstrap.js`
 */
export async function main(_args: readonly string[]): Promise<void> {
  await runProgram(async (teardown) => {
    const folder = await teardown.start(mkdtemp(join(tmpdir(), 'tocsin-images-')), (path) =>
      rm(path, { recursive: true, force: true }),
    );
    // The user of the images must be able to enter it.
    await chmod(folder, 0o755);
    for (const image of IMAGES) await assemble(image, join(folder, image));
    await tryImages(folder, teardown);
    say('The images hold what they should, start, work, are well and stop.');
    return 0;
  });
}

async function assemble(image: ImageName, folder: string): Promise<void> {
  say(`${image}: putting its contents together …`);
  await promisify(execFile)('infra/images/assemble.sh', [image, folder], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  });
  const problems = await judgeContents(folder);
  if (problems.length > 0) throw new Error(`${image}: ${problems.join('\n  ')}`);
}

async function tryImages(folder: string, teardown: Teardown): Promise<void> {
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres') });
  teardown.onStop(postgres.stop);
  const redis = await startRedis({ dataDir: join(folder, 'redis'), appendOnly: true });
  teardown.onStop(redis.stop);
  const target = await HttpTarget.start();
  teardown.onStop(() => target.stop());
  const stores = { DATABASE_URL: postgres.url, QUEUE_URL: redis.url };
  const apiKey = `tocsin_live_${randomBytes(24).toString('hex')}`;
  const port = String(await findFreePort());
  const env: Record<ServiceName, Record<string, string>> = {
    api: { PORT: port, BOOTSTRAP_API_KEY: apiKey },
    checker: { HEALTH_PORT: String(await findFreePort()) },
    notifier: { HEALTH_PORT: String(await findFreePort()) },
  };
  await migrate(join(folder, 'api'), stores);
  const files = await filesOf(folder);
  const shared = {
    ...stores,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
  };
  const containers: Container[] = [];
  for (const service of SERVICES) {
    const container = new Container(await readImage(service), join(folder, service), {
      ...shared,
      ...env[service],
    });
    container.start();
    containers.push(container);
    teardown.onStop(() => container.stop());
  }
  const url = `http://127.0.0.1:${port}`;
  await useSystem({ url, apiKey, targetUrl: target.url(), containers });
  await applyFile(join(folder, 'cli'), { TOCSIN_URL: url, TOCSIN_API_KEY: apiKey });
  for (const [at, container] of containers.entries()) {
    const code = await container.stop();
    if (code !== 0) throw new Error(`${SERVICES[at]} ended with ${code}:\n${container.said}`);
  }
  const written = (await filesOf(folder)).filter((file) => !files.includes(file));
  if (written.length > 0) throw new Error(`An image wrote: ${written.join(', ')}`);
}

/** Twice: an upgrade that changes nothing runs it again. */
async function migrate(folder: string, stores: Readonly<Record<string, string>>): Promise<void> {
  const image = await readImage('migrate');
  for (let time = 1; time <= 2; time += 1) {
    const container = new Container(image, folder, stores);
    container.start();
    const code = await container.ended(120_000);
    if (code !== 0) throw new Error(`migrate ended with ${code}:\n${container.said}`);
  }
  // And without what it needs it says so.
  const poor = new Container(image, folder, {});
  poor.start();
  if ((await poor.ended(30_000)) !== 1 || !poor.said.includes('DATABASE_URL is not set'))
    throw new Error(`migrate without settings said:\n${poor.said}`);
}

/** As the CronJob of infra/examples does it. */
async function applyFile(folder: string, env: Readonly<Record<string, string>>): Promise<void> {
  const file = join(folder, '..', 'tocsin.yaml');
  await writeFile(
    file,
    'source: images\nmonitors:\n  - { externalId: a, name: A, url: https://a.example }\n',
  );
  const container = new Container(await readImage('cli'), folder, env);
  container.start(['apply', '--yes', '--prune', '--file', file]);
  const code = await container.ended(30_000);
  if (code !== 0) throw new Error(`cli ended with ${code}:\n${container.said}`);
}

async function filesOf(folder: string): Promise<string[]> {
  const lists = await Promise.all(
    IMAGES.map(async (image) =>
      (await readdir(join(folder, image), { recursive: true })).map((file) => `${image}/${file}`),
    ),
  );
  return lists.flat();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
