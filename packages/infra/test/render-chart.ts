import { CHART, helm } from '@tocsin/infra/helm';

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
