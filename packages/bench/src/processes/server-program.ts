import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { findExecutable } from '@tocsin/embedded/executables';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { seenBefore } from '@tocsin/embedded/testing/until';
import type { Bench } from '../scenarios/scenario.ts';

const READY_WITHIN_MS = 60_000;
/** How much of a program's output an error quotes. */
const QUOTED_CHARACTERS = 2_000;

/** The path of a program of a Debian package. @throws UsageError that names the package */
export function requireProgram(name: string, debianPackage: string): string {
  // Servers are in /usr/sbin, which only root has in its PATH.
  const program = findExecutable([name], `${process.env['PATH'] ?? ''}:/usr/sbin`);
  if (program === null) throw new UsageError(`${name} is not installed: apt-get install ${debianPackage}`);
  return program;
}

export interface ServerProgram {
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

interface ServerProgramPlan {
  readonly program: string;
  readonly args: readonly string[];
  /** Its working directory. */
  readonly folder: string;
  readonly isReady: () => Promise<boolean>;
}

/** Starts a server that is not part of Tocsin, and waits until it is ready. @throws Error if it ends before that, with its output */
export async function startServer(
  { teardown }: Bench,
  { program, args, folder, isReady }: ServerProgramPlan,
): Promise<ServerProgram> {
  const child = spawn(program, [...args], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (bytes: Buffer) => {
    output = `${output}${String(bytes)}`.slice(-QUOTED_CHARACTERS);
  });
  const exit = once(child, 'exit');
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const stop = async (): Promise<void> => {
    if (!hasEnded()) child.kill();
    await exit;
  };
  teardown.onStop(stop);
  const isUp = await seenBefore(Date.now() + READY_WITHIN_MS, async () => hasEnded() || (await isReady()));
  if (isUp === null || hasEnded()) throw new Error(`${program} is not ready. Its last output:\n${output}`);
  return { pid: child.pid ?? 0, stop };
}
