import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { STAND_IN_LABEL } from '../containers/base-images.ts';
import type { Engine } from '../containers/engine.ts';
import { imageOf, IMAGES, inspectImage, type ImageName, type ImageNaming } from '../containers/images.ts';
import { readDigest } from './registry.ts';

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
