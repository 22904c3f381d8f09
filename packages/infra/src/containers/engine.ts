import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { installByApt } from '@tocsin/embedded/test-run/install-by-apt';
import { findProgram } from '../find-program.ts';
import { waitUntil } from '../rollout/wait-until.ts';
import { installComposePlugin } from './compose-plugin.ts';

/** Outside of the repository: a path without spaces, which survives from one run to the next so that layers stay cached. */
const OWN_ENGINE_FOLDER = '/var/lib/tocsin-test-engine';
const START_SECONDS = 60;
const STOP_MS = 30_000;
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
const execute = promisify(execFile);

/** No engine can be used here. The message says how to get one. */
export class NoEngineError extends EmbeddedError {}

export interface DockerOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutSeconds?: number;
}

/** A running Docker engine with Compose v2. */
export class Engine {
  /** Whether this program started the engine, for its own use alone. */
  readonly isOwn: boolean;
  readonly env: NodeJS.ProcessEnv;

  constructor(isOwn: boolean, env: NodeJS.ProcessEnv) {
    this.isOwn = isOwn;
    this.env = env;
  }

  /** Runs `docker` with these arguments. Returns its output. @throws Error with what it printed */
  async docker(args: readonly string[], options: DockerOptions = {}): Promise<string> {
    return run('docker', args, { ...options, env: { ...this.env, ...options.env } });
  }

  /** Runs a command line in a shell, as a user types it, against this engine. @throws Error with what it printed */
  async shell(line: string, options: DockerOptions = {}): Promise<string> {
    return run('sh', ['-euc', line], { ...options, env: { ...this.env, ...options.env } });
  }
}

/**
 * Opens the engine that `docker` reaches. Where there is none, as root on Debian, installs and starts one that the teardown stops.
 * @throws NoEngineError
 */
export async function openEngine(teardown: Teardown, say: (line: string) => void): Promise<Engine> {
  const isRunning = await succeeds('docker', ['info'], process.env);
  const engine = isRunning ? new Engine(false, process.env) : await startEngine(teardown, say);
  if (await succeeds('docker', ['compose', 'version'], engine.env)) return engine;
  say('Installing the Compose plugin …');
  const config = join(OWN_ENGINE_FOLDER, 'config');
  try {
    await installComposePlugin(join(config, 'cli-plugins'));
  } catch (cause) {
    throw new NoEngineError('`docker compose` is missing: install the Compose plugin, version 2 or later', {
      cause,
    });
  }
  return new Engine(engine.isOwn, { ...engine.env, DOCKER_CONFIG: config });
}

async function startEngine(teardown: Teardown, say: (line: string) => void): Promise<Engine> {
  const advice = 'Start Docker, or run this command as root on Debian, which installs an engine';
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new NoEngineError(`No Docker engine is running. ${advice}`);
  if (findProgram('dockerd') === null && !installByApt('docker.io', () => say('Installing docker.io …')))
    throw new NoEngineError(`No Docker engine is installed. ${advice}`);
  // Where the package starts a service, that is the engine: nobody else uses it yet.
  if (await succeeds('docker', ['info'], process.env)) return new Engine(true, process.env);
  await mkdir(OWN_ENGINE_FOLDER, { recursive: true });
  const host = `unix://${OWN_ENGINE_FOLDER}/docker.sock`;
  const log = join(OWN_ENGINE_FOLDER, 'dockerd.log');
  await rm(log, { force: true });
  const output = openSync(log, 'a');
  say('Starting a Docker engine …');
  const daemon = spawn(
    'dockerd',
    [
      `--host=${host}`,
      `--data-root=${OWN_ENGINE_FOLDER}/data`,
      `--exec-root=${OWN_ENGINE_FOLDER}/run`,
      `--pidfile=${OWN_ENGINE_FOLDER}/dockerd.pid`,
    ],
    { stdio: ['ignore', output, output] },
  );
  const exit = once(daemon, 'exit');
  teardown.onStop(async () => {
    daemon.kill('SIGTERM');
    const timer = setTimeout(() => daemon.kill('SIGKILL'), STOP_MS);
    await exit;
    clearTimeout(timer);
  });
  const env = { ...process.env, DOCKER_HOST: host };
  try {
    await Promise.race([
      waitUntil('the engine to start', START_SECONDS, () => succeeds('docker', ['info'], env)),
      exit.then(() => {
        throw new Error('dockerd ended');
      }),
    ]);
  } catch (cause) {
    const lines = (await readFile(log, 'utf8')).trim().split('\n').slice(-5).join('\n');
    throw new NoEngineError(`The Docker engine did not start. The end of ${log}:\n${lines}`, { cause });
  }
  return new Engine(true, env);
}

async function succeeds(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  return execute(file, args, { env }).then(
    () => true,
    () => false,
  );
}

async function run(
  file: string,
  args: readonly string[],
  { cwd, env, timeoutSeconds = 600 }: Omit<DockerOptions, 'env'> & { readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  try {
    const { stdout } = await execute(file, args, {
      ...(cwd !== undefined && { cwd }),
      env,
      timeout: timeoutSeconds * 1_000,
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    const output = `${stdout}${stderr}`.trim().split('\n').slice(-40).join('\n');
    throw new Error(`${[file, ...args].join(' ').slice(0, 200)} failed:\n${output}`, { cause: error });
  }
}
