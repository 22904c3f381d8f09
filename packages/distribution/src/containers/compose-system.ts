import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { findFreePort } from '@tocsin/embedded/ports';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { ADMIN_ENV } from '@tocsin/lab/dashboard-session';
import { z } from 'zod';
import { readCommands } from '../repository.ts';
import { DeployedSystem, outsideFiles, untilReachable } from '@tocsin/lab/rollout/deployed-system';
import type { ToolOptions } from '../run-tool.ts';
import type { Engine } from './engine.ts';
import type { ImageNaming } from './images.ts';

/** Docker assigns the networks of projects from these ranges. */
const PRIVATE_NETWORKS = '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16';
const REGIONS = ['eu', 'us'];
/** Services in the Compose file that run our images. */
export const SERVICES = ['api', 'notifier', 'gateway', ...REGIONS.map((region) => `checker-${region}`)];
const READY_SECONDS = 120;
const WATCH_MS = 250;

const stateSchema = z.object({
  Pid: z.number(),
  ExitCode: z.number(),
  StartedAt: z.string(),
  Running: z.boolean(),
  Health: z.object({ Status: z.string() }).default({ Status: 'healthy' }),
});
type ContainerState = z.infer<typeof stateSchema>;

interface ComposeOptions {
  readonly engine: Engine;
  /** A copy of the repository, with docker-compose.yml and .env at its top. */
  readonly folder: string;
  readonly project: string;
  readonly nodeImage: string;
  /** The first images, and the images that `upgrade` starts. */
  readonly images: ImageNaming;
  readonly upgradeTo: ImageNaming;
}

/** A project of the real Compose file, which also runs `outside.ts`. */
export class ComposeSystem extends DeployedSystem {
  /** Set by `start`. */
  apiKey = '';
  protected readonly postgres = 'postgres';
  readonly #options: ComposeOptions;
  #images: ImageNaming;

  private constructor(options: ComposeOptions, port: number, outsidePort: number) {
    super(port, outsidePort, `http://localhost:${port}`);
    this.#options = options;
    this.#images = options.images;
  }

  /** Prepares the project's folder, and starts no container. The teardown removes the project with its volumes. */
  static async prepare(options: ComposeOptions, teardown: Teardown): Promise<ComposeSystem> {
    const system = new ComposeSystem(options, await findFreePort(), await findFreePort());
    const folder = join(options.folder, '.data', 'outside');
    await mkdir(folder, { recursive: true });
    // The services, which run as another user, read these files.
    for (const [name, text] of Object.entries(await outsideFiles()))
      await writeFile(join(folder, name), text, { mode: 0o644 });
    const volumes = [`${folder}:/outside:ro,z`];
    const services = {
      notifier: { environment: { WEBHOOK_CA_FILE: '/outside/ca.pem' }, volumes },
      cli: { volumes },
      outside: {
        image: options.nodeImage,
        command: ['node', '/outside/outside.mjs'],
        networks: ['outside'],
        ports: [`127.0.0.1:${system.outsidePort}:8080`],
        volumes,
      },
    };
    // Compose merges a file of this name, so the real one stays unchanged.
    await writeFile(join(options.folder, 'docker-compose.override.yml'), JSON.stringify({ services }));
    teardown.onStop(() => system.remove());
    // A killed run may have left containers.
    await system.remove();
    return system;
  }

  /** Runs the command lines that start the project, as a user types them, and reads the API key from `.env`. */
  async start(lines: string): Promise<void> {
    await this.#options.engine.shell(lines, this.#toolOptions());
    const env = await readFile(join(this.#options.folder, '.env'), 'utf8');
    this.apiKey = /^BOOTSTRAP_API_KEY=(\S+)$/m.exec(env)?.[1] ?? '';
    await this.untilListening();
  }

  /** Ends running commands, and removes the project. */
  async remove(): Promise<void> {
    await this.#options.engine.cancel();
    await this.#compose('--profile', 'cli', 'down', '--volumes', '--timeout', '5');
  }

  async applyFile(): Promise<void> {
    await this.#compose('run', '--rm', 'cli', 'apply', '--yes', '--file', '/outside/tocsin.yaml');
  }

  services(): Promise<readonly string[]> {
    return Promise.resolve(SERVICES);
  }

  exec(part: string, command: readonly string[]): Promise<string> {
    return this.#compose('exec', '-T', part, ...command);
  }

  /**
   * Stops a container by `docker stop` and starts it again.
   * @returns the milliseconds from SIGTERM to the exit @throws Error if the exit code is not 0
   */
  async replace(part: string): Promise<number> {
    const { engine } = this.#options;
    const { id } = await this.#stateOf(part);
    const before = performance.now();
    await engine.docker(['stop', id]);
    const stopMs = performance.now() - before;
    const { ExitCode } = await this.#stateOf(part);
    await engine.docker(['start', id]);
    if (ExitCode !== 0) throw new Error(`${part} exited with code ${ExitCode} after SIGTERM`);
    await this.#untilReady(part, () => true);
    return stopMs;
  }

  /** Kills a container's process from outside, like a crash. The restart policy starts the container again. */
  async kill(part: string): Promise<void> {
    const { Pid, StartedAt } = await this.#stateOf(part);
    const { engine, nodeImage } = this.#options;
    const options = ['--rm', '--pid=host', '--userns=host', '--user=0', '--entrypoint=node'];
    await engine.docker(['run', ...options, nodeImage, '-e', `process.kill(${Pid}, 'SIGKILL')`]);
    await this.#untilReady(part, (state) => state.StartedAt !== StartedAt);
  }

  /**
   * Runs the commands of the upgrade runbook, except `git`.
   * @throws Error if a region had no healthy checker meanwhile
   */
  async upgrade(): Promise<void> {
    this.#images = this.#options.upgradeTo;
    const commands = await readCommands('docs/runbooks/upgrade.md', 'docker compose rm --force migrate');
    const lines = commands.split('\n').filter((line) => !line.startsWith('git '));
    if (lines.join('\n') === commands) throw new Error('the runbook has no line with git to leave out');
    const watch = new AbortController();
    const watching = this.#watchCheckers(watch.signal);
    await this.#options.engine.shell(lines.join('\n'), this.#toolOptions()).finally(() => watch.abort());
    const gaps = await watching;
    if (gaps.size > 0) throw new Error(`no healthy checker during the upgrade in ${[...gaps].join(', ')}`);
  }

  /** @returns the regions that had no healthy checker at some time before the signal */
  async #watchCheckers(signal: AbortSignal): Promise<Set<string>> {
    const { engine, project } = this.#options;
    const gaps = new Set<string>();
    while (!signal.aborted) {
      for (const region of REGIONS) {
        const service = `label=com.docker.compose.service=checker-${region}`;
        const filters = [`label=com.docker.compose.project=${project}`, service, 'health=healthy'];
        const options = filters.map((filter) => `--filter=${filter}`);
        if ((await engine.docker(['ps', '--quiet', ...options])).trim() === '') gaps.add(region);
      }
      await wait(WATCH_MS);
    }
    return gaps;
  }

  #compose(...args: string[]): Promise<string> {
    return this.#options.engine.docker(['compose', ...args], this.#toolOptions());
  }

  /** Returns the folder and the variables of every command. */
  #toolOptions(): ToolOptions {
    const { project, folder } = this.#options;
    const env = {
      ...ADMIN_ENV,
      COMPOSE_PROJECT_NAME: project,
      PORT: String(this.port),
      // Any free port.
      AGENT_PORT: '0',
      EGRESS_ALLOW_CIDRS: PRIVATE_NETWORKS,
      API_RATE_LIMIT_PER_MINUTE: '100000',
      IMAGE_REGISTRY: this.#images.registry,
      TOCSIN_VERSION: this.#images.version,
    };
    return { cwd: folder, env };
  }

  async #stateOf(part: string): Promise<ContainerState & { readonly id: string }> {
    const id = (await this.#compose('ps', '--all', '--quiet', part)).trim();
    const state = await this.#options.engine.docker(['inspect', '--format', '{{json .State}}', id]);
    return { id, ...stateSchema.parse(JSON.parse(state)) };
  }

  async #untilReady(part: string, isNew: (state: ContainerState) => boolean): Promise<void> {
    await untilReachable(`${part} to be healthy`, READY_SECONDS, async () => {
      const state = await this.#stateOf(part);
      return isNew(state) && state.Running && state.Health.Status === 'healthy';
    });
  }
}
