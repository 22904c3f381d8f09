import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem } from 'node:os';

/** The machine and the versions of a measurement. */
export function describeMachine() {
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
    /** With `+` if files differ from it; null outside of a repository. */
    commit: readCommit(),
  };
}

function readCommit(): string | null {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', import.meta.dirname, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  try {
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '+'}`;
  } catch {
    return null;
  }
}
