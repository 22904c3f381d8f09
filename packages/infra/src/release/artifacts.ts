import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

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
