import { bundleDashboard } from '../build.js';
import startServers from './start-servers.js';

/** Prepares what tests of whole systems need besides servers: the pages of the dashboard, and a browser. */
export default async function setup() {
  await startServers();
  const { ensureChromium } = await import('../dist/test-run/programs.js');
  ensureChromium(say);
  bundleDashboard(say);
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
