import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { STAND_IN_LABEL } from '../containers/base-images.ts';
import type { Engine } from '../containers/engine.ts';
import { type ImageName, type ImageNaming, imageOf, IMAGES, inspectImage } from '../containers/images.ts';
import { CHART, helm } from '../helm.ts';
import { runTool } from '../run-tool.ts';

/**
 * Whether a registry is on this machine. Docker uses such a registry without TLS, and stand-ins of base images may be pushed there.
 * @param registry as in IMAGE_REGISTRY
 */
export function isLoopback(registry: string): boolean {
  const [host = ''] = registry.split(/[:/]/);
  return host === 'localhost' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The digest that `docker push` or `helm push` printed. @throws Error if it printed none */
export function readDigest(output: string): string {
  const [, digest] = /\bdigest: (sha256:[0-9a-f]{64})\b/i.exec(output) ?? [];
  if (digest === undefined) throw new Error(`The push printed no digest:\n${output}`);
  return digest;
}

const PUSH_SECONDS = 1_800;
const LABEL = 'org.opencontainers.image';

/** What every image states about itself in its labels. */
export interface ImageOrigin {
  readonly revision: string;
  readonly created: string;
  readonly base: string;
}

export interface ReleaseImage {
  readonly name: ImageName;
  readonly reference: string;
  readonly id: string;
  /** Bytes, with those of the base. */
  readonly size: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Null until it is pushed. */
  readonly digest: string | null;
}

const imageSchema = z.tuple([
  z.object({
    Id: z.string(),
    Size: z.number(),
    Config: z.object({ Labels: z.record(z.string(), z.string()) }),
  }),
]);
const sbomSchema = z.object({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.object({ component: z.object({ version: z.string() }) }),
});

/** The built images, with what is wrong with each. Copies the SBOM of each into the folder. */
export async function collectImages(
  engine: Engine,
  naming: ImageNaming,
  origin: ImageOrigin,
  folder: string,
  temporary: string,
): Promise<{ readonly images: readonly ReleaseImage[]; readonly problems: readonly string[] }> {
  const images: ReleaseImage[] = [];
  const problems: string[] = [];
  for (const name of IMAGES) {
    const reference = imageOf(name, naming);
    const [{ Id: id, Size: size, Config: config }] = imageSchema.parse(
      JSON.parse(await engine.docker(['image', 'inspect', reference])),
    );
    images.push({ name, reference, id, size, labels: config.Labels, digest: null });
    const sbom = join(folder, `tocsin-${name}-${naming.version}.cdx.json`);
    await writeFile(sbom, await engine.docker(['run', '--rm', '--entrypoint=cat', id, '/app/sbom.cdx.json']));
    const { metadata } = sbomSchema.parse(JSON.parse(await readFile(sbom, 'utf8')));
    const { problems: defects } = await inspectImage(engine, name, naming, origin.base, temporary);
    problems.push(
      ...[
        ...wrongLabels(config.Labels, naming.version, origin),
        ...(metadata.component.version === naming.version
          ? []
          : [`its SBOM is about version ${metadata.component.version}`]),
        ...defects,
      ].map((problem) => `image ${name}: ${problem}`),
    );
  }
  return { images, problems };
}

/** Which labels do not state the origin of an image. */
export function wrongLabels(
  labels: Readonly<Record<string, string>>,
  version: string,
  { revision, created, base }: ImageOrigin,
): string[] {
  return Object.entries({ version, revision, created, 'base.name': base }).flatMap(([label, expected]) => {
    const actual = labels[`${LABEL}.${label}`];
    return actual === expected
      ? []
      : [`its label ${LABEL}.${label} is ${actual ?? 'missing'}, not ${expected}`];
  });
}

/** Whether it was built on an image that only resembles its base. */
export function isStandIn({ labels }: ReleaseImage): boolean {
  return labels[STAND_IN_LABEL] === 'true';
}

/** @returns the image with the digest that the registry stored it under */
export async function pushImage(engine: Engine, image: ReleaseImage): Promise<ReleaseImage> {
  const output = await engine.docker(['push', image.reference], { timeoutSeconds: PUSH_SECONDS });
  return { ...image, digest: readDigest(output) };
}

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

const CHECKSUMS = 'SHA256SUMS';

/** A file of the release folder. */
export interface Artifact {
  readonly file: string;
  readonly size: number;
  readonly sha256: string;
}

/** Every file of a folder except its checksums, in the order of their names. */
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
  const artifacts = await listArtifacts(folder);
  await writeFile(
    join(folder, CHECKSUMS),
    artifacts.map(({ sha256, file }) => `${sha256}  ${file}\n`).join(''),
  );
}
