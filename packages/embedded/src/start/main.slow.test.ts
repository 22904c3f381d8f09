import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';

/** The built program, run as a separate process. `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../../test/start-harness.js', import.meta.url));

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeEach(async () => {
  folder = await createTemporaryFolder();
});
afterEach(() => folder.remove());

async function start(env: Record<string, string>): Promise<{ stderr: string; code: unknown }> {
  const child = spawn(process.execPath, [HARNESS], {
    env: { PATH: process.env['PATH'], DATA_DIR: folder.path, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  const [[code]] = await Promise.all([once(child, 'exit'), once(child.stderr, 'end')]);
  return { stderr, code };
}

describe('npm start', () => {
  it('reports in one line that its port is in use', async () => {
    const other = createServer().listen(0);
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const result = await start({ PORT: String(port) });
    other.close();
    expect(result).toEqual({
      stderr: `Port ${port} is in use. Choose another one: PORT=${port + 1} npm start\n`,
      code: 1,
    });
  });

  it('reports each invalid variable in one line', async () => {
    expect(await start({ PORT: 'high', SECRETS_KEY: 'short' })).toEqual({
      stderr: expect.stringMatching(/^PORT must [^\n]*, not "high"\nSECRETS_KEY must [^\n]*\n$/),
      code: 1,
    });
  });

  it('reports in one line that an external database is unavailable', async () => {
    const env = {
      PORT: '0',
      DATABASE_URL: 'postgres://tocsin:s3cret@127.0.0.1:1/tocsin',
      QUEUE_URL: 'redis://127.0.0.1:1',
    };
    expect(await start(env)).toEqual({
      stderr: 'Could not prepare the database: ECONNREFUSED\n',
      code: 1,
    });
  });
});
