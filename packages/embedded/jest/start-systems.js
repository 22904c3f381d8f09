import { bundleDashboard } from '../build.js';
import startServers from './start-servers.js';

/** Also prepares the dashboard and a browser, for tests of whole systems. */
export default async function setup() {
  await startServers();
  const { ensureChromium } = await import('../dist/test-run/programs.js');
  ensureChromium(say);
  bundleDashboard(say);
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
