import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import type { Image } from './dockerfile.ts';

/** As the images have it; where we are not root, we are what we are. */
const USER = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};
/** A service ends itself after 30 s. */
const STOP_WITHIN_MS = 35_000;

/**
 * The command of an image, run in the folder that is its file system, with the variables of the image and those given, and no
 * others, as a user who may write nothing there: as near to a container as it gets without an engine.
 */
export class Container {
  readonly #image: Image;
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #said = '';

  /** @param folder stands for /app */
  constructor(image: Image, folder: string, env: Readonly<Record<string, string>>) {
    const inherited = Object.entries(image.env).map(([name, value]) => [name, inFolder(value, folder)]);
    this.#image = image;
    this.#folder = folder;
    this.#env = { PATH: process.env['PATH'] ?? '', ...(Object.fromEntries(inherited) as object), ...env };
  }

  /** Its output so far. */
  get said(): string {
    return this.#said;
  }

  /** @param command instead of that of the image */
  start(command: readonly string[] = this.#image.command): void {
    const { entrypoint } = this.#image;
    const [file = '', ...args] = [...entrypoint.map((word) => inFolder(word, this.#folder)), ...command];
    const child = spawn(file, args, {
      cwd: this.#folder,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...USER,
    });
    for (const output of [child.stdout, child.stderr])
      output.on('data', (bytes) => (this.#said += String(bytes)));
    this.#child = child;
  }

  /** @returns its exit code; throws where it does not end in time */
  async ended(withinMs: number): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null) return child?.exitCode ?? null;
    const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(timer);
    return code;
  }

  /** As `docker stop`: asks by SIGTERM. @returns its exit code, null where it had to be killed */
  async stop(): Promise<number | null> {
    this.#child?.kill('SIGTERM');
    return this.ended(STOP_WITHIN_MS);
  }

  /** Whether the command of the image's HEALTHCHECK says that it is well. */
  async isHealthy(): Promise<boolean> {
    const [file = '', ...args] = this.#image.healthCheck ?? [];
    return promisify(execFile)(file, args, { cwd: this.#folder, env: this.#env, ...USER }).then(
      () => true,
      () => false,
    );
  }
}

function inFolder(path: string, folder: string): string {
  return path.replace(/^\/app\b/, folder);
}
