import { runProgram } from '@tocsin/embedded/program/run-program';
import { ensureChromium } from '@tocsin/embedded/test-run/ensure-chromium';
import { useTestServers } from '@tocsin/embedded/testing/run-servers';
import { createDashboardSystem, type DashboardSystem } from './dashboard-system.ts';

/** Runs a program with a system on servers of its own. Exits the process: with 1, and the error on stderr, if `work` fails. */
export async function runWithSystem(work: (dashboard: DashboardSystem) => Promise<void>): Promise<void> {
  await runProgram(async (teardown) => {
    ensureChromium(say);
    await useTestServers(teardown);
    const dashboard = await teardown.start(createDashboardSystem(), (one) => one.close());
    await work(dashboard);
    return 0;
  });
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
