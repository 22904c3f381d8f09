import { CHART, helm } from '@tocsin/distribution/helm';
import { readManifests, type Manifest } from './manifests.ts';

const RELEASE = 'up';
const NAMESPACE = ['--namespace', 'monitoring'];

/** Output for each chart and set of values, because helm takes a second on a busy machine. */
const rendered = new Map<string, Promise<string>>();

/** The output of `helm template`. @param chart the path of a folder or package, from the root of the repository @throws ToolError */
export function renderChart(values: object, chart = CHART): Promise<string> {
  const key = JSON.stringify([chart, values]);
  const output =
    rendered.get(key) ??
    helm(['template', RELEASE, chart, ...NAMESPACE], values).then(({ stdout }) => stdout);
  rendered.set(key, output);
  return output;
}

/** The output of `helm lint --strict`. @throws ToolError if it finds an error or a warning */
export async function lintChart(values: object): Promise<string> {
  return (await helm(['lint', '--strict', CHART], values)).stdout;
}

export async function renderManifests(values: object, chart?: string): Promise<Manifest[]> {
  return readManifests(await renderChart(values, chart));
}
