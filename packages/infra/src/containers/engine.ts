import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { installByApt } from '@tocsin/embedded/test-run/programs';
import { until } from '@tocsin/embedded/testing/until';
import { ROOT } from '../repository.ts';
import { UnavailableError } from '../rollout/command.ts';
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
    try {
      return (await running).stdout;
    } finally {
      this.#running.delete(running);
    }
  }
}

/**
 * Opens the engine that `docker` reaches. If there is none, as root on Debian, installs and starts one that the teardown stops.
 * @throws UnavailableError
 */
export async function openEngine(teardown: Teardown, say: (line: string) => void): Promise<Engine> {
  const env = cleanEnv();
  const own = (await hasEngine(env)) ? env : await startEngine(env, teardown, say);
  if (await hasCompose(own)) return new Engine(own);
  if (own['DOCKER_HOST'] !== OWN_SOCKET)
    throw new UnavailableError(
      '`docker compose` is missing: install the Compose plugin, version 2.13 or later',
    );
  const withPlugin = { ...own, DOCKER_CONFIG: await openConfig(env) };
  if (!(await hasCompose(withPlugin))) {
    say('Installing the Compose plugin …');
    await installComposePlugin(join(OWN_CONFIG, 'cli-plugins'));
  }
  return new Engine(withPlugin);
}

function hasEngine(env: NodeJS.ProcessEnv): Promise<boolean> {
  return succeeds('docker', ['info'], { env });
}

function hasCompose(env: NodeJS.ProcessEnv): Promise<boolean> {
  return succeeds('docker', ['compose', 'version'], { env });
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
async function startEngine(
  env: NodeJS.ProcessEnv,
  teardown: Teardown,
  say: (line: string) => void,
): Promise<NodeJS.ProcessEnv> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new UnavailableError(`No Docker engine is running. ${ADVICE}`);
  // Debian 13 has the command in a package of its own, which Debian 12 does not know.
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
 * Copies Compose v2 out of Debian's package `docker-compose` into a folder of Docker plugins. Debian 13 is the first release with it; its
 * binary also runs on older releases. Installs nothing: apt works in a temporary folder, so the machine's package lists do not change.
 */
async function installComposePlugin(folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'tocsin-compose-'));
  try {
    for (const name of ['lists/partial', 'cache/archives/partial', 'package'])
      await mkdir(join(work, name), { recursive: true });
    const source = `[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${await findMirror()}`;
    await writeFile(join(work, 'sources.list'), `deb ${source} trixie main\n`);
    const options = [
      `Dir::Etc::sourcelist=${work}/sources.list`,
      'Dir::Etc::sourceparts=-',
      `Dir::State::lists=${work}/lists`,
      `Dir::Cache=${work}/cache`,
      // Only root can read the folder.
      'APT::Sandbox::User=root',
    ].flatMap((option) => ['-o', option]);
    await runTool('apt-get', [...options, 'update'], { cwd: work });
    await runTool('apt-get', [...options, 'download', 'docker-compose'], { cwd: work });
    const archive = (await readdir(work)).find((name) => name.endsWith('.deb')) ?? '';
    await runTool('dpkg-deb', ['--extract', archive, 'package'], { cwd: work });
    await mkdir(folder, { recursive: true });
    const plugin = join(folder, 'docker-compose');
    await copyFile(join(work, 'package/usr/libexec/docker/cli-plugins/docker-compose'), plugin);
    await chmod(plugin, 0o755);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The Debian mirror that this machine uses. */
async function findMirror(): Promise<string> {
  await runTool('apt-get', ['update']);
  const filters = ['Origin: Debian', 'Label: Debian', 'Created-By: Packages'];
  const { stdout } = await runTool('apt-get', ['indextargets', '--format', '$(REPO_URI)', ...filters]);
  const [mirror] = stdout.split('\n');
  if (mirror === undefined || mirror === '') throw new Error('apt has no mirror of Debian');
  return mirror;
}
