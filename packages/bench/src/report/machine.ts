import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';

/** The machine and the versions of a measurement. */
export function describeMachine(): Readonly<Record<string, string | number | null>> {
  const processors = cpus();
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.versions.node,
    openssl: process.versions.openssl,
    /** The load average of the minute before the run: on a quiet machine a few tenths at most. */
    loadBefore: loadavg()[0] ?? Number.NaN,
    /** With a `+` if the work tree has changes; null outside of a repository. */
    commit: readCommit(),
  };
}

function readCommit(): string | null {
  try {
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '+'}`;
  } catch {
    return null;
  }
}

function git(...args: string[]): string {
  const command = ['-C', import.meta.dirname, ...args];
  return execFileSync('git', command, { encoding: 'utf8', stdio: 'pipe' }).trim();
}
