import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createCertificate } from '@tocsin/embedded/certificates';
import { findFreePort } from '@tocsin/embedded/ports';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { z } from 'zod';
import { readCommands } from '../repository.ts';
import { type DeployedSystem, OutsideClient, waitUntil } from '../rollout/deployed-system.ts';
import type { Engine } from './engine.ts';
import type { ImageNaming } from './images.ts';

const OUTSIDE_PROGRAM = fileURLToPath(new URL('../../dist/rollout/outside.js', import.meta.url));
/** The networks that Docker gives to projects are among these. */
const PRIVATE_NETWORKS = '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16';
const ADMIN = { email: 'admin@example.com', password: 'correct horse battery' };
const READY_SECONDS = 120;
const WATCH_MS = 250;

const stateSchema = z.tuple([
  z.object({
    State: z.object({
      Pid: z.number(),
      ExitCode: z.number(),
      StartedAt: z.string(),
      Running: z.boolean(),
      Health: z.object({ Status: z.string() }).optional(),
    }),
  }),
]);
type ContainerState = z.infer<typeof stateSchema>[0]['State'];

export interface ComposeOptions {
  readonly engine: Engine;
  /** A copy of the repository, with docker-compose.yml and .env at its top. */
  readonly folder: string;
  readonly project: string;
  readonly nodeImage: string;
  /** The images to start with. */
  readonly images: ImageNaming;
}

/** A project of the real Compose file, with targets and a receiver in one more container of its network. */
export class ComposeSystem implements DeployedSystem {
  readonly port: number;
  readonly publicUrl: string;
  readonly admin = ADMIN;
  readonly outside: OutsideClient;
  /** Set when `.env` is written. */
  apiKey = '';
  /** How long each stopped container took from SIGTERM to its end, ms. */
  readonly stopTimes = new Map<string, number>();
  #images: ImageNaming;
  readonly #upgradeTo: ImageNaming;
  readonly #options: ComposeOptions;
  readonly #outsidePort: number;

  private constructor(options: ComposeOptions, upgradeTo: ImageNaming, ports: readonly [number, number]) {
    this.#options = options;
    this.#images = options.images;
    this.#upgradeTo = upgradeTo;
    [this.port, this.#outsidePort] = ports;
    this.publicUrl = `http://localhost:${this.port}`;
    this.outside = new OutsideClient(() => `http://127.0.0.1:${this.#outsidePort}`);
  }

  /** Prepares the project's folder. The teardown removes the project with its volumes. Starts no container. */
  static async prepare(
    options: ComposeOptions,
    upgradeTo: ImageNaming,
    teardown: Teardown,
  ): Promise<ComposeSystem> {
    const system = new ComposeSystem(options, upgradeTo, [await findFreePort(), await findFreePort()]);
    const outside = join(options.folder, '.data', 'outside');
    await mkdir(outside, { recursive: true });
    const { ca, key, cert } = await createCertificate(['outside']);
    await writeForContainers(join(outside, 'ca.pem'), ca);
    await writeForContainers(join(outside, 'key.pem'), key);
    await writeForContainers(join(outside, 'cert.pem'), cert);
    await writeForContainers(join(outside, 'outside.mjs'), await readFile(OUTSIDE_PROGRAM, 'utf8'));
    // Compose merges this file by its name: the real one stays as it is.
    const override = {
      services: {
        notifier: {
          environment: { WEBHOOK_CA_FILE: '/outside/ca.pem' },
          volumes: [`${outside}/ca.pem:/outside/ca.pem:ro,z`],
        },
      },
    };
    await writeFile(join(options.folder, 'docker-compose.override.yml'), JSON.stringify(override));
    teardown.onStop(async () => {
      await options.engine.cancel();
      await system.remove();
    });
    // Removes what a killed run left behind.
    await system.remove();
    return system;
  }

  /** The variables that every command gets. */
  get env(): Record<string, string> {
    return {
      COMPOSE_PROJECT_NAME: this.#options.project,
      PORT: String(this.port),
      EGRESS_ALLOW_CIDRS: PRIVATE_NETWORKS,
      API_RATE_LIMIT_PER_MINUTE: '100000',
      BOOTSTRAP_ADMIN_EMAIL: ADMIN.email,
      BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
      IMAGE_REGISTRY: this.#images.registry,
      TOCSIN_VERSION: this.#images.version,
    };
  }

  /** Runs a command line in the project's folder, as a user types it. */
  shell(line: string): Promise<string> {
    return this.#options.engine.shell(line, { cwd: this.#options.folder, env: this.env });
  }

  /** Starts the project with the images that exist. */
  async up(): Promise<void> {
    await this.compose('up', '--detach', '--wait', '--no-build');
  }

  /** Takes the key out of `.env`, and starts the targets and the receiver. To be called when the project is up. */
  async join(): Promise<void> {
    const { engine, folder, project, nodeImage } = this.#options;
    const env = await engine.shell('cat .env', { cwd: folder });
    this.apiKey = /^BOOTSTRAP_API_KEY=(\S+)$/m.exec(env)?.[1] ?? '';
    const container = [
      '--detach',
      `--name=${project}-outside`,
      `--volume=${folder}/.data/outside:/outside:ro,z`,
    ];
    const network = [`--network=${project}_outside`, '--network-alias=outside'];
    const port = `--publish=127.0.0.1:${this.#outsidePort}:8080`;
    const command = [nodeImage, 'node', '/outside/outside.mjs'];
    await engine.docker(['run', ...container, ...network, port, ...command]);
    await waitUntil('the targets to listen', READY_SECONDS, async () => {
      await this.outside.readLog();
      return true;
    });
  }

  async remove(): Promise<void> {
    const { engine, project } = this.#options;
    await engine.docker(['rm', '--force', `${project}-outside`]).catch(() => undefined);
    await this.compose('--profile', 'cli', 'down', '--volumes', '--timeout', '5');
  }

  async query(sql: string): Promise<unknown> {
    const wrapped = `select coalesce(json_agg(rows), '[]') from (${sql}) as rows`;
    const password = 'PGPASSWORD="$POSTGRES_PASSWORD"';
    const psql = `${password} psql --host=127.0.0.1 --username=tocsin --dbname=tocsin -At -c "$1"`;
    const output = await this.exec('postgres', ['sh', '-c', psql, 'sh', wrapped]);
    return JSON.parse(output) as unknown;
  }

  async apply(yaml: string): Promise<string> {
    const file = join(this.#options.folder, '.data', `${randomBytes(4).toString('hex')}.yaml`);
    await writeForContainers(file, yaml);
    const volume = `${file}:/tmp/tocsin.yaml:ro,z`;
    const command = ['apply', '--yes', '--file', '/tmp/tocsin.yaml'];
    return this.compose('run', '--rm', '--volume', volume, 'cli', ...command);
  }

  /** The services that run now, by their names in the Compose file. */
  async parts(): Promise<string[]> {
    const output = await this.compose('ps', '--services', '--status', 'running');
    return output.split('\n').filter((name) => name !== '');
  }

  exec(part: string, command: readonly string[]): Promise<string> {
    return this.compose('exec', '-T', part, ...command);
  }

  /** Stops a container by `docker stop` and starts it again. @throws Error if it does not exit with code 0 */
  async replace(part: string): Promise<void> {
    const { engine } = this.#options;
    const container = await this.#containerOf(part);
    const before = performance.now();
    await engine.docker(['stop', container]);
    this.stopTimes.set(part, performance.now() - before);
    const { ExitCode } = await this.#stateOf(part);
    await engine.docker(['start', container]);
    if (ExitCode !== 0) throw new Error(`${part} exited with code ${ExitCode} after SIGTERM`);
    await this.#untilReady(part, () => true);
  }

  /** Ends a container's process by SIGKILL from outside, as a crash does: the restart policy starts it again. */
  async kill(part: string): Promise<void> {
    const { Pid, StartedAt } = await this.#stateOf(part);
    const { engine, nodeImage } = this.#options;
    const options = ['--rm', '--pid=host', '--userns=host', '--user=0', '--entrypoint=node'];
    await engine.docker(['run', ...options, nodeImage, '-e', `process.kill(${Pid}, 'SIGKILL')`]);
    await this.#untilReady(part, (state) => state.StartedAt !== StartedAt);
  }

  /**
   * Runs the commands of the upgrade runbook, without those of git.
   * @throws Error if a region was without a healthy checker meanwhile
   */
  async upgrade(): Promise<void> {
    this.#images = this.#upgradeTo;
    const lines = (await readCommands('docs/runbooks/upgrade.md', 'docker compose rm --force migrate')).split(
      '\n',
    );
    const commands = lines.filter((line) => !line.startsWith('git '));
    if (commands.length === lines.length) throw new Error('the runbook has no line with git to leave out');
    const watch = new AbortController();
    const watching = this.#watchCheckers(watch.signal);
    await this.shell(commands.join('\n')).finally(() => watch.abort());
    const gaps = await watching;
    if (gaps.size > 0) throw new Error(`no healthy checker meanwhile in ${[...gaps].join(', ')}`);
  }

  /** @returns the regions that were without a healthy checker until the signal */
  async #watchCheckers(signal: AbortSignal): Promise<Set<string>> {
    const gaps = new Set<string>();
    while (!signal.aborted) {
      for (const region of ['eu', 'us']) if (!(await this.#hasHealthyChecker(region))) gaps.add(region);
      await wait(WATCH_MS);
    }
    return gaps;
  }

  async #hasHealthyChecker(region: string): Promise<boolean> {
    const { engine, project } = this.#options;
    const filters = [
      `label=com.docker.compose.project=${project}`,
      `label=com.docker.compose.service=checker-${region}`,
      'health=healthy',
    ].flatMap((filter) => ['--filter', filter]);
    return (await engine.docker(['ps', '--quiet', ...filters])).trim() !== '';
  }

  /** Runs `docker compose`. Returns its output. */
  compose(...args: string[]): Promise<string> {
    const { engine, folder } = this.#options;
    return engine.docker(['compose', ...args], { cwd: folder, env: this.env });
  }

  async #containerOf(part: string): Promise<string> {
    return (await this.compose('ps', '--all', '--quiet', part)).trim();
  }

  async #stateOf(part: string): Promise<ContainerState> {
    const output = await this.#options.engine.docker(['inspect', await this.#containerOf(part)]);
    return stateSchema.parse(JSON.parse(output))[0].State;
  }

  async #untilReady(part: string, isNew: (state: ContainerState) => boolean): Promise<void> {
    await waitUntil(`${part} to be healthy`, READY_SECONDS, async () => {
      const state = await this.#stateOf(part);
      return isNew(state) && state.Running && (state.Health?.Status ?? 'healthy') === 'healthy';
    });
  }
}

/** The services run as another user, who must be able to read the file whatever the umask is. */
async function writeForContainers(file: string, text: string): Promise<void> {
  await writeFile(file, text);
  await chmod(file, 0o644);
}
