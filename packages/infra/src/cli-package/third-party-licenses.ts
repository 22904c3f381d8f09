import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The notices that the licenses of bundled packages require.
 * @param modules paths of the bundled files; those outside `node_modules` are our own
 * @throws if a package has no license file
 */
export async function thirdPartyLicenses(modules: readonly string[]): Promise<string> {
  const folders = new Set(
    modules.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path.replaceAll('\\', '/')) ?? []),
  );
  const notices = await Promise.all([...folders].map((folder) => noticeOf(folder)));
  return notices.toSorted().join(`\n${'-'.repeat(80)}\n\n`);
}

async function noticeOf(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} has no license file to include`);
  const text = await readFile(join(folder, file), 'utf8');
  return `${name} ${version} (${license ?? 'see below'})\n\n${text.trim()}\n`;
}
