import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { STAND_IN_LABEL } from '../containers/base-images.ts';
import type { Engine } from '../containers/engine.ts';
import { IMAGES, inspectImage, type ImageNaming, type InspectedImage } from '../containers/images.ts';
import { messagesOfFailed } from '../failures.ts';
import { CHART, helm } from '../helm.ts';
import { runTool } from '../run-tool.ts';

const PUSH_SECONDS = 1_800;
const LABEL = 'org.opencontainers.image';
const CHECKSUMS = 'SHA256SUMS';

/** The origin that the labels of every image state. */
export interface ImageOrigin {
  readonly revision: string;
  readonly created: string;
  readonly base: string;
}

export interface ReleaseImage extends Pick<InspectedImage, 'name' | 'reference' | 'id' | 'size' | 'labels'> {
  /** Null until it is pushed. */
  readonly digest: string | null;
}

/** A file of the release folder. */
interface Artifact {
  readonly file: string;
  /** Bytes. */
  readonly size: number;
  readonly sha256: string;
}

const sbomSchema = z.object({ metadata: z.object({ component: z.object({ version: z.string() }) }) });

/** Inspects the built images, and copies the SBOM of each into the folder. */
export async function collectImages(
  engine: Engine,
  naming: ImageNaming,
  origin: ImageOrigin,
  folder: string,
  temporary: string,
): Promise<{ readonly images: readonly ReleaseImage[]; readonly problems: readonly string[] }> {
  const { version } = naming;
  const images: ReleaseImage[] = [];
  const problems: string[] = [];
  for (const name of IMAGES) {
    const image = await inspectImage(engine, name, naming, origin.base, temporary);
    const { reference, id, size, labels } = image;
    images.push({ name, reference, id, size, labels, digest: null });
    const sbom = await engine.docker(['run', '--rm', '--entrypoint=cat', id, '/app/sbom.cdx.json']);
    await writeFile(join(folder, `tocsin-${name}-${version}.cdx.json`), sbom);
    const described = sbomSchema.parse(JSON.parse(sbom)).metadata.component.version;
    const found = [
      ...wrongLabels(labels, version, origin),
      ...messagesOfFailed([[described === version, `its SBOM is about version ${described}`]]),
    ];
    problems.push(...image.problems, ...found.map((problem) => `image ${name}: ${problem}`));
  }
  return { images, problems };
}

/** The labels that do not state the origin of an image. */
function wrongLabels(
  labels: Readonly<Record<string, string>>,
  version: string,
  { revision, created, base }: ImageOrigin,
): string[] {
  const expected = Object.entries({ version, revision, created, 'base.name': base });
  return messagesOfFailed(
    expected.map(([name, value]) => {
      const actual = labels[`${LABEL}.${name}`];
      return [actual === value, `its label ${LABEL}.${name} is ${actual ?? 'missing'}, not ${value}`];
    }),
  );
}

/** Whether the image was built on a stand-in of its base. */
export function isStandIn({ labels }: ReleaseImage): boolean {
  return labels[STAND_IN_LABEL] === 'true';
}

/** @returns the image with its digest in the registry */
export async function pushImage(engine: Engine, image: ReleaseImage): Promise<ReleaseImage> {
  const output = await engine.docker(['push', image.reference], { timeoutSeconds: PUSH_SECONDS });
  return { ...image, digest: readDigest(output) };
}

/** The problems of a packed chart. @param source a copy of the repository */
export async function inspectChart(tarball: string, source: string, version: string): Promise<string[]> {
  const { stdout } = await helm(['show', 'chart', tarball]);
  const chart = parse(stdout) as { version?: string; appVersion?: string };
  const listing = (await runTool('tar', ['-tvzf', tarball])).stdout.trim().split('\n');
  const packed = listing.map((line) => ({ type: line.charAt(0), path: line.split(' ').at(-1) ?? '' }));
  const paths = new Set(packed.map(({ path }) => path));
  const root = join(source, CHART);
  const files = (await readdir(root, { recursive: true, withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map((entry) => `tocsin/${relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/')}`);
  return messagesOfFailed([
    [chart.version === version, `its version is ${chart.version ?? 'missing'}`],
    [chart.appVersion === version, `its appVersion is ${chart.appVersion ?? 'missing'}`],
    ...packed.map(({ type, path }) => [type === '-', `${path} is not a regular file`] as const),
    ...[...paths].map((path) => [files.includes(path), `${path} is not part of the chart`] as const),
    ...files.map((path) => [paths.has(path), `${path} is missing`] as const),
  ]);
}

/** @returns the reference for `helm install`, without the version, and the digest */
export async function pushChart(
  tarball: string,
  registry: string,
): Promise<{ reference: string; digest: string }> {
  const remote = `oci://${registry}/charts`;
  const options = isLoopback(registry) ? ['--plain-http'] : [];
  const { stdout, stderr } = await helm(['push', tarball, remote, ...options]);
  return { reference: `${remote}/tocsin`, digest: readDigest(`${stdout}${stderr}`) };
}

/**
 * Whether a registry is on this machine. Docker uses such a registry without TLS, and images on a stand-in may be pushed there.
 * @param registry as in IMAGE_REGISTRY
 */
export function isLoopback(registry: string): boolean {
  const [host = ''] = registry.split(/[:/]/);
  return host === 'localhost' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The digest that `docker push` or `helm push` printed. @throws Error if it printed none */
function readDigest(output: string): string {
  const [, digest] = /\bdigest: (sha256:[0-9a-f]{64})\b/i.exec(output) ?? [];
  if (digest === undefined) throw new Error(`The push printed no digest:\n${output}`);
  return digest;
}

/** Every file of the release folder except its checksums, in the order of their names. */
export async function listArtifacts(folder: string): Promise<Artifact[]> {
  const files = (await readdir(folder)).filter((file) => file !== CHECKSUMS).toSorted();
  return Promise.all(
    files.map(async (file) => {
      const content = await readFile(join(folder, file));
      return { file, size: content.length, sha256: createHash('sha256').update(content).digest('hex') };
    }),
  );
}

/** Writes the file that `sha256sum --check` reads. */
export async function writeChecksums(folder: string): Promise<void> {
  const lines = (await listArtifacts(folder)).map(({ sha256, file }) => `${sha256}  ${file}\n`);
  await writeFile(join(folder, CHECKSUMS), lines.join(''));
}
