import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';

/** Describes the machine and the versions of a measurement. */
export function describeMachine(): Readonly<Record<string, string | number | null>> {
  const processors = cpus();
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.versions.node,
    openssl: process.versions.openssl,
    /** Load average of the minute before the run. A quiet machine has a few tenths at most. */
    loadBefore: loadavg()[0] ?? Number.NaN,
    /** Ends with a `+` if the work tree has changes. Null outside of a repository. */
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
