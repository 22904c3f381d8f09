import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { until } from '@tocsin/embedded/testing/until';
import { say } from '@tocsin/lab/command';
import { ROOT } from '../repository.ts';
import { UnavailableError } from '@tocsin/lab/rollout/command';
import { runTool, type ToolOptions } from '../run-tool.ts';

/** A path without spaces, outside of the repository. It is kept so that layers stay cached. */
const OWN_FOLDER = '/var/lib/tocsin-test-engine';
const OWN_ENV = { DOCKER_HOST: `unix://${OWN_FOLDER}/docker.sock`, DOCKER_CONFIG: `${OWN_FOLDER}/config` };
const START_MS = 60_000;
const STOP_MS = 30_000;

/** A running Docker engine with Compose v2. */
export class Engine {
  /** Only these tests use the engine. */
  readonly isOwn: boolean;
  readonly #env: NodeJS.ProcessEnv;
  readonly #running = new Set<Promise<unknown>>();
  #abort = new AbortController();

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
    this.isOwn = env['DOCKER_HOST'] === OWN_ENV.DOCKER_HOST;
  }

  /** Runs `docker`. Returns its output. @throws ToolError */
  docker(args: readonly string[], options?: ToolOptions): Promise<string> {
    return this.run('docker', args, options);
  }

  /** Runs command lines in a shell, as a user types them, against this engine. Returns their output. @throws ToolError */
  shell(lines: string, options?: ToolOptions): Promise<string> {
    return this.run('sh', ['-euc', lines], options);
  }

  /** Runs a program that uses this engine. Returns its output. @throws ToolError */
  async run(file: string, args: readonly string[], { env, ...options }: ToolOptions = {}): Promise<string> {
    const { signal } = this.#abort;
    const running = runTool(file, args, { ...options, env: { ...this.#env, ...env }, signal });
    this.#running.add(running);
    return (await running.finally(() => this.#running.delete(running))).stdout;
  }

  /** Ends the running commands. Resolves when they have ended. Later commands run as usual. */
  async cancel(): Promise<void> {
    this.#abort.abort();
    await Promise.allSettled(this.#running);
    this.#abort = new AbortController();
  }
}

/**
 * Opens the engine that `docker` reaches. If there is none, installs and starts one, as root on Debian. The teardown stops it and ends
 * running commands.
 * @throws UnavailableError
 */
export async function openEngine(teardown: Teardown): Promise<Engine> {
  const clean = cleanEnv();
  const engine = new Engine((await succeeds(clean, 'info')) ? clean : await startEngine(clean, teardown));
  teardown.onStop(() => engine.cancel());
  await engine.docker(['compose', 'version']).catch((cause: unknown) => {
    throw new UnavailableError('Install the Compose plugin of Docker, version 2.13 or later', { cause });
  });
  return engine;
}

function succeeds(env: NodeJS.ProcessEnv, ...args: string[]): Promise<boolean> {
  return runTool('docker', args, { env }).then(
    () => true,
    () => false,
  );
}

/** Returns the environment without the variables that Compose and the Compose file read. */
function cleanEnv(): NodeJS.ProcessEnv {
  const file = readFileSync(`${ROOT}docker-compose.yml`, 'utf8');
  const names = new Set([...file.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !names.has(name) && !name.startsWith('COMPOSE_')),
  );
}

/** @returns the environment of commands for the new engine */
async function startEngine(clean: NodeJS.ProcessEnv, teardown: Teardown): Promise<NodeJS.ProcessEnv> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new UnavailableError(
      'No Docker engine is running. Start Docker, or run this command as root on Debian, where it installs an engine',
    );
  say('Starting a Docker engine …');
  await mkdir(OWN_ENV.DOCKER_CONFIG, { recursive: true });
  await runTool(`${ROOT}packages/distribution/engine/install.sh`, [OWN_ENV.DOCKER_CONFIG]).catch(
    (cause: unknown) => {
      throw new UnavailableError(`Docker could not be installed. ${String(cause)}`, { cause });
    },
  );
  // The package may have started an engine.
  if (await succeeds(clean, 'info')) return { ...clean, DOCKER_CONFIG: OWN_ENV.DOCKER_CONFIG };

  const log = join(OWN_FOLDER, 'dockerd.log');
  await rm(log, { force: true });
  const output = openSync(log, 'a');
  const folders = [`--data-root=${OWN_FOLDER}/data`, `--exec-root=${OWN_FOLDER}/run`];
  const args = [`--host=${OWN_ENV.DOCKER_HOST}`, `--pidfile=${OWN_FOLDER}/dockerd.pid`, ...folders];
  const daemon = spawn('dockerd', args, { stdio: ['ignore', output, output] });
  const exit = once(daemon, 'exit');
  teardown.onStop(async () => {
    daemon.kill('SIGTERM');
    const timer = setTimeout(() => daemon.kill('SIGKILL'), STOP_MS);
    await exit;
    clearTimeout(timer);
  });
  const env = { ...clean, ...OWN_ENV };
  const started = until('the engine to start', () => succeeds(env, 'info'), START_MS).then(() => true);
  const isRunning = await Promise.race([started, exit.then(() => false)]).catch(() => false);
  if (isRunning) return env;
  const lines = (await readFile(log, 'utf8')).trim().split('\n').slice(-5).join('\n');
  throw new UnavailableError(`The Docker engine did not start. The end of ${log}:\n${lines}`);
}
