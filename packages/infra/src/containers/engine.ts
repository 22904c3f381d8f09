import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { installByApt } from '@tocsin/embedded/test-run/programs';
import { until } from '@tocsin/embedded/testing/until';
import { say } from '@tocsin/lab/command';
import { ROOT } from '../repository.ts';
import { UnavailableError } from '@tocsin/lab/rollout/command';
import { isOnPath, runTool, succeeds, type ToolOptions } from '../run-tool.ts';

/** Outside of the repository: a path without spaces, which is kept so that layers stay cached. */
const OWN_FOLDER = '/var/lib/tocsin-test-engine';
const OWN_SOCKET = `unix://${OWN_FOLDER}/docker.sock`;
const OWN_CONFIG = `${OWN_FOLDER}/config`;
const START_MS = 60_000;
const STOP_MS = 30_000;
const ADVICE = 'Start Docker, or run this command as root on Debian, where it installs an engine';

/** A running Docker engine with Compose v2. */
export class Engine {
  /** Whether the engine is for these tests alone. */
  readonly isOwn: boolean;
  readonly #env: NodeJS.ProcessEnv;
  readonly #running = new Set<Promise<unknown>>();
  #abort = new AbortController();

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
    this.isOwn = env['DOCKER_HOST'] === OWN_SOCKET;
  }

  /** Runs `docker`. Returns its output. @throws ToolError */
  docker(args: readonly string[], options: ToolOptions = {}): Promise<string> {
    return this.#run('docker', args, options);
  }

  /** Runs command lines in a shell, as a user types them, against this engine. Returns their output. @throws ToolError */
  shell(lines: string, options: ToolOptions = {}): Promise<string> {
    return this.#run('sh', ['-euc', lines], options);
  }

  /** Ends the running commands. Resolves when they have ended. Later commands run as usual. */
  async cancel(): Promise<void> {
    this.#abort.abort();
    await Promise.allSettled(this.#running);
    this.#abort = new AbortController();
  }

  async #run(file: string, args: readonly string[], { env, ...options }: ToolOptions): Promise<string> {
    const { signal } = this.#abort;
    const running = runTool(file, args, { ...options, env: { ...this.#env, ...env }, signal });
    this.#running.add(running);
    return (await running.finally(() => this.#running.delete(running))).stdout;
  }
}

/**
 * Opens the engine that `docker` reaches. If there is none, as root on Debian, installs and starts one. The teardown stops it,
 * and ends running commands.
 * @throws UnavailableError
 */
export async function openEngine(teardown: Teardown): Promise<Engine> {
  const clean = cleanEnv();
  const env = (await hasEngine(clean)) ? clean : await startEngine(clean, teardown);
  const hasCompose = (): Promise<boolean> => succeeds('docker', ['compose', 'version'], { env });
  if (env['DOCKER_HOST'] === OWN_SOCKET && !(await hasCompose())) {
    env['DOCKER_CONFIG'] = await openConfig(clean);
    if (!(await hasCompose())) await installComposePlugin();
  }
  if (!(await hasCompose()))
    throw new UnavailableError(
      '`docker compose` is missing: install the Compose plugin, version 2.13 or later',
    );
  const engine = new Engine(env);
  teardown.onStop(() => engine.cancel());
  return engine;
}

function hasEngine(env: NodeJS.ProcessEnv): Promise<boolean> {
  return succeeds('docker', ['info'], { env });
}

/** The environment without the variables that Compose and the Compose file read: the test uses settings of its own. */
function cleanEnv(): NodeJS.ProcessEnv {
  const file = readFileSync(`${ROOT}docker-compose.yml`, 'utf8');
  const names = new Set([...file.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !names.has(name) && !name.startsWith('COMPOSE_')),
  );
}

/** @returns the environment of commands for the new engine */
async function startEngine(env: NodeJS.ProcessEnv, teardown: Teardown): Promise<NodeJS.ProcessEnv> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new UnavailableError(`No Docker engine is running. ${ADVICE}`);
  // In Debian 13, `docker` is in a package of its own, which Debian 12 does not have.
  for (const [program, name] of [
    ['dockerd', 'docker.io'],
    ['docker', 'docker-cli'],
  ] as const) {
    if (!isOnPath(program) && !installByApt(name, () => say(`Installing ${name} …`)))
      throw new UnavailableError(`No Docker engine is installed. ${ADVICE}`);
  }
  // The package may have started an engine.
  if (await hasEngine(env)) return env;

  say('Starting a Docker engine …');
  await mkdir(OWN_FOLDER, { recursive: true });
  const log = join(OWN_FOLDER, 'dockerd.log');
  await rm(log, { force: true });
  const output = openSync(log, 'a');
  const folders = [`--data-root=${OWN_FOLDER}/data`, `--exec-root=${OWN_FOLDER}/run`];
  const args = [`--host=${OWN_SOCKET}`, `--pidfile=${OWN_FOLDER}/dockerd.pid`, ...folders];
  const daemon = spawn('dockerd', args, { stdio: ['ignore', output, output] });
  const exit = once(daemon, 'exit');
  teardown.onStop(async () => {
    daemon.kill('SIGTERM');
    const timer = setTimeout(() => daemon.kill('SIGKILL'), STOP_MS);
    await exit;
    clearTimeout(timer);
  });
  const own = { ...env, DOCKER_HOST: OWN_SOCKET };
  const ended = exit.then(() => {
    throw new Error('dockerd ended');
  });
  try {
    await Promise.race([until('the engine to start', () => hasEngine(own), START_MS), ended]);
  } catch (cause) {
    const lines = (await readFile(log, 'utf8')).trim().split('\n').slice(-5).join('\n');
    throw new UnavailableError(`The Docker engine did not start. The end of ${log}:\n${lines}`, { cause });
  }
  return own;
}

/** Creates a folder for the plugin, with the user's logins to registries. Returns its path. */
async function openConfig(env: NodeJS.ProcessEnv): Promise<string> {
  const link = join(OWN_CONFIG, 'config.json');
  await mkdir(OWN_CONFIG, { recursive: true });
  await rm(link, { force: true });
  await symlink(join(env['DOCKER_CONFIG'] ?? join(homedir(), '.docker'), 'config.json'), link);
  return OWN_CONFIG;
}

/**
 * Copies Compose v2 out of Debian's package `docker-compose`. Debian 13 is the first release with it; its binary also runs on
 * older releases. Installs nothing: apt works in a temporary folder, so the machine's package lists do not change.
 */
const EXTRACT_COMPOSE = `
apt-get update
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 'Created-By: Packages' | head -n 1)
test -n "$mirror" || { echo 'apt has no mirror of Debian'; exit 1; }
mkdir -p lists/partial cache/archives/partial package "$1"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" > sources.list
apt() {
  # Only root can read this folder.
  apt-get -o APT::Sandbox::User=root -o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=- \\
    -o "Dir::State::lists=$PWD/lists" -o "Dir::Cache=$PWD/cache" "$@"
}
apt update
apt download docker-compose
dpkg-deb --extract docker-compose_*.deb package
install package/usr/libexec/docker/cli-plugins/docker-compose "$1"
`;

async function installComposePlugin(): Promise<void> {
  say('Installing the Compose plugin …');
  const cwd = await mkdtemp(join(tmpdir(), 'tocsin-compose-'));
  try {
    await runTool('sh', ['-euc', EXTRACT_COMPOSE, 'sh', join(OWN_CONFIG, 'cli-plugins')], { cwd });
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}
