import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder, prepareServerFolder } from '../server-folder.ts';

/** Stops everything that a program started, in reverse order. */
export class Teardown {
  readonly #parent: Teardown | null;
  readonly #stops: (() => Promise<unknown>)[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  #ran: Promise<boolean> | undefined;

  /** @param parent teardown that includes this one as a step */
  constructor(parent: Teardown | null = null) {
    this.#parent = parent;
    parent?.onStop(() => this.run());
  }

  get program(): Teardown {
    return this.#parent?.program ?? this;
  }

  /** Registers something to stop, even if the teardown is running or has already run. */
  async start<Started>(
    starting: Promise<Started>,
    stop: (started: Started) => Promise<unknown>,
  ): Promise<Started> {
    if (this.#ran !== undefined) {
      await stop(await starting);
      throw new Error('The program is shutting down, so nothing more is started');
    }
    const settled = starting.then(
      (started) => void this.#stops.push(() => stop(started)),
      () => undefined,
    );
    this.#starting.add(settled);
    await settled;
    this.#starting.delete(settled);
    return starting;
  }

  onStop(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
  }

  /**
   * Runs all steps once. Failed steps are reported on stderr and do not prevent others.
   * @returns true if all steps succeeded
   */
  run(): Promise<boolean> {
    this.#ran ??= this.#run();
    return this.#ran;
  }

  async #run(): Promise<boolean> {
    let succeeded = true;
    await Promise.all(this.#starting);
    for (let stop = this.#stops.pop(); stop !== undefined; stop = this.#stops.pop()) {
      try {
        if ((await stop()) === false) succeeded = false;
      } catch (error) {
        succeeded = false;
        process.stderr.write(`Cleanup failed: ${String(error)}\n`);
      }
    }
    return succeeded;
  }
}

/** The built file, because the sweeper is a separate process even if this module is loaded from its source. */
const SWEEPER = fileURLToPath(new URL('../../dist/program/sweeper.js', import.meta.url));

const programFolders = new WeakMap<Teardown, Promise<string>>();

/**
 * Creates a folder that servers of other users can access, below the program's folder in `DATA_DIR`. The teardown removes it. If the program
 * ends without a teardown, a sweeper process removes the program's folder and ends all processes and servers started since the first call.
 */
export async function openFolder(name: string, teardown: Teardown): Promise<string> {
  const { program } = teardown;
  const opening = programFolders.get(program) ?? openProgramFolder(program);
  programFolders.set(program, opening);
  return teardown.start(createFolder(await opening, name), remove);
}

async function openProgramFolder(program: Teardown): Promise<string> {
  const parent = resolve(process.env['DATA_DIR'] ?? '.data');
  await makeFolder(parent);
  const folder = await program.start(createFolder(parent, 'run'), remove);
  await program.start(startSweeper(folder), (sweeper) => sweeper.sweep());
  // The sweeper finds processes by this inherited variable.
  process.env['TEST_FOLDER'] = folder;
  return folder;
}

async function createFolder(parent: string, name: string): Promise<string> {
  const folder = await mkdtemp(join(parent, `${name}-`));
  await chmod(folder, 0o711);
  return folder;
}

async function startSweeper(folder: string): Promise<{ readonly sweep: () => Promise<void> }> {
  const { TEST_FOLDER: _, ...env } = process.env;
  const sweeper = fork(SWEEPER, [folder], {
    detached: true,
    execArgv: [],
    env: { ...env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exit = once(sweeper, 'exit');
  const isReady = await Promise.race([once(sweeper, 'message').then(() => true), exit.then(() => false)]);
  if (!isReady) throw new Error('The process that cleans up after this program did not start');
  return {
    /** Ends leftovers, such as a server that was started during the cleanup. */
    async sweep() {
      if (sweeper.connected) sweeper.disconnect();
      await exit;
    },
  };
}

/** Data folder of a server. If root relocates it, `startPostgres` still finds it by the returned path. */
export async function serverFolder(folder: string, name: string, teardown: Teardown): Promise<string> {
  const wanted = join(folder, name);
  await teardown.start(prepareServerFolder(wanted), ({ path }) => remove(path));
  return wanted;
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}
