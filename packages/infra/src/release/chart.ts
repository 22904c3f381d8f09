import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { parse } from 'yaml';
import { CHART, helm } from '../helm.ts';
import { runTool } from '../run-tool.ts';
import { isLoopback, readDigest } from './registry.ts';

/** What is wrong with a packed chart. @param source a copy of the repository */
export async function inspectChart(tarball: string, source: string, version: string): Promise<string[]> {
  const { stdout } = await helm(['show', 'chart', tarball]);
  const chart = parse(stdout) as { version?: string; appVersion?: string };
  const listing = (await runTool('tar', ['-tvzf', tarball])).stdout.trim().split('\n');
  const packed = listing.map((line) => ({ type: line.charAt(0), path: line.split(' ').at(-1) ?? '' }));
  const root = join(source, CHART);
  const files = (await readdir(root, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map((entry) => `tocsin/${relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/')}`);
  const paths = new Set(packed.map(({ path }) => path));
  return [
    ...(chart.version === version ? [] : [`its version is ${chart.version ?? 'missing'}`]),
    ...(chart.appVersion === version ? [] : [`its appVersion is ${chart.appVersion ?? 'missing'}`]),
    ...packed.filter(({ type }) => type !== '-').map(({ path }) => `${path} is not a regular file`),
    ...[...paths].filter((path) => !files.includes(path)).map((path) => `${path} is not part of the chart`),
    ...files.filter((path) => !paths.has(path)).map((path) => `${path} is missing`),
  ];
}

/** A pushed chart. `reference` is what `helm install` takes, before `--version`. */
export interface PushedChart {
  readonly reference: string;
  readonly digest: string;
}

export async function pushChart(tarball: string, registry: string): Promise<PushedChart> {
  const remote = `oci://${registry}/charts`;
  const { stdout, stderr } = await helm([
    'push',
    tarball,
    remote,
    ...(isLoopback(registry) ? ['--plain-http'] : []),
  ]);
  return { reference: `${remote}/tocsin`, digest: readDigest(`${stdout}${stderr}`) };
}
