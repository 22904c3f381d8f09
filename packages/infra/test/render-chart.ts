import { CHART, helm } from '@tocsin/infra/helm';
import { podsOf, readManifests, type Manifest, type Pod } from './manifests.ts';

const RELEASE = 'up';
const NAMESPACE = ['--namespace', 'monitoring'];

/** The output of `helm template`. @param chart the path of a folder or package, from the root of the repository @throws ToolError */
export async function renderChart(values: object, chart = CHART): Promise<string> {
  return (await helm(['template', RELEASE, chart, ...NAMESPACE], values)).stdout;
}

/** The notes of `helm install`. @throws ToolError */
export async function renderNotes(values: object): Promise<string> {
  const options = [...NAMESPACE, '--dry-run=client', '--hide-secret'];
  const { stdout } = await helm(['install', RELEASE, CHART, ...options], values);
  return stdout.split(/^NOTES:\n/m)[1] ?? '';
}

/** The output of `helm lint --strict`. @throws ToolError if it finds an error or a warning */
export async function lintChart(values: object): Promise<string> {
  return (await helm(['lint', '--strict', CHART], values)).stdout;
}

/** The manifests of `helm template`. */
export async function renderManifests(values: object = {}): Promise<Manifest[]> {
  return readManifests(await renderChart(values));
}

/** @throws Error if there is none */
export function findPod(manifests: readonly Manifest[], name: string): Pod {
  const pod = podsOf(manifests).find((each) => each.name === name);
  if (pod === undefined) throw new Error(`no pod of ${name}`);
  return pod;
}
