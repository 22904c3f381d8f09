import { chmod, copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from '../run-tool.ts';

/** The first release of Debian that packages Compose v2. Its binary runs on older releases, too. */
const RELEASE = 'trixie';
const PLUGIN = 'usr/libexec/docker/cli-plugins/docker-compose';

/**
 * Copies Compose v2 out of Debian's package `docker-compose` into a folder of Docker plugins. Installs nothing: apt works in a
 * temporary folder, so the machine's own package lists do not change.
 */
export async function installComposePlugin(folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'tocsin-compose-'));
  try {
    await Promise.all(
      ['lists/partial', 'cache/archives/partial', 'package'].map((name) =>
        mkdir(join(work, name), { recursive: true }),
      ),
    );
    const mirror = await findMirror();
    const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
    await writeFile(join(work, 'sources.list'), `deb [signed-by=${keyring}] ${mirror} ${RELEASE} main\n`);
    const options = [
      `Dir::Etc::sourcelist=${work}/sources.list`,
      'Dir::Etc::sourceparts=-',
      `Dir::State::lists=${work}/lists`,
      `Dir::Cache=${work}/cache`,
      // The folder belongs to this user alone.
      'APT::Sandbox::User=root',
    ].flatMap((option) => ['-o', option]);
    await runTool('apt-get', [...options, 'update'], { cwd: work });
    await runTool('apt-get', [...options, 'download', 'docker-compose'], { cwd: work });
    const archive = (await readdir(work)).find((name) => name.endsWith('.deb')) ?? '';
    await runTool('dpkg-deb', ['--extract', archive, 'package'], { cwd: work });
    await mkdir(folder, { recursive: true });
    await copyFile(join(work, 'package', PLUGIN), join(folder, 'docker-compose'));
    await chmod(join(folder, 'docker-compose'), 0o755);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The mirror of Debian that this machine uses. */
async function findMirror(): Promise<string> {
  await runTool('apt-get', ['update']);
  const { stdout } = await runTool('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI)',
    'Origin: Debian',
    'Label: Debian',
    'Created-By: Packages',
  ]);
  const [mirror] = stdout.split('\n');
  if (mirror === undefined || mirror === '') throw new Error('apt has no mirror of Debian');
  return mirror;
}
