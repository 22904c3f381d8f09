import { findFiles } from '../files/find-files.ts';
import { parseYaml } from '../files/yaml-file.ts';
import { readText } from '../terminal/text-file.ts';
import type { Terminal } from '../terminal/terminal.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a configuration from a file, or from all YAML files in a folder. A Kubernetes ConfigMap stands for the files in it.
 * @throws CliError if there is no file, or a file cannot be read
 */
export async function readGatus(path: string, terminal: Terminal): Promise<unknown> {
  const found: unknown[] = [];
  for (const file of await findFiles([path], terminal.cwd)) {
    const { value } = parseYaml(file, await readText(file, terminal));
    found.push(...(isMap(value) ? configurationsIn(file, value) : [value]));
  }
  return found.reduce(merge);
}

function configurationsIn(file: string, value: Fields): unknown[] {
  if (value['kind'] === 'List' && Array.isArray(value['items']))
    return value['items'].flatMap((item: unknown) => (isMap(item) ? configurationsIn(file, item) : []));
  if (value['kind'] !== 'ConfigMap') return [value];
  const files = isMap(value['data']) ? Object.entries(value['data']) : [];
  return files.flatMap(([name, text]) =>
    /\.ya?ml$/i.test(name) && typeof text === 'string' ? parseYaml(`${file} (${name})`, text).value : [],
  );
}

/** Merges configuration files as Gatus does: maps recursively, lists by concatenation. */
function merge(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) return [...(one as unknown[]), ...(other as unknown[])];
  if (!isMap(one) || !isMap(other)) return other ?? one;
  const added = Object.entries(other).map(([key, value]) => [
    key,
    Object.hasOwn(one, key) ? merge(one[key], value) : value,
  ]);
  return { ...one, ...(Object.fromEntries(added) as Fields) };
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
