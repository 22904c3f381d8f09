import { toFieldErrors } from '@tocsin/contracts/field-errors';
import { fileDefaultsSchema, monitorFileSchema } from '@tocsin/contracts/monitor-sets/monitor-file';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import { z } from 'zod';
import type { Terminal } from '../terminal/terminal.ts';
import { readText } from '../terminal/text-file.ts';
import { findFiles } from './find-files.ts';
import { containsVariable, interpolate, mapTexts } from './interpolate.ts';
import {
  invalidFiles,
  positionText,
  parseYaml,
  type FileError,
  type Position,
  type YamlFile,
} from './yaml-file.ts';

/** A monitor of a file, with variables replaced and defaults applied. */
export interface FileMonitor {
  readonly externalId: string;
  readonly fields: z.input<typeof monitorSetEntrySchema>;
  /** The fields with variables, as they are in the file: the values of variables may be secret and are never shown. */
  readonly hidden: ReadonlyMap<string, unknown>;
  position(path: string): Position;
}

/** The monitors of one source in all files. */
export interface FileSet {
  readonly source: string;
  readonly monitors: readonly FileMonitor[];
}

/** The file without its monitors and defaults, which are validated one by one. */
const outerSchema = monitorFileSchema.extend({
  defaults: z.record(z.string(), z.unknown(), { error: 'must be fields of a monitor' }).nullish(),
  monitors: z.array(z.unknown(), { error: 'must be a list of monitors' }).nullable(),
});

/**
 * Reads files, or the files of folders, and validates them as the API does.
 * @param source of files that name none
 * @throws CliError with every error and its position
 */
export async function loadSets(
  paths: readonly string[],
  source: string | undefined,
  { cwd, env }: Pick<Terminal, 'cwd' | 'env'>,
): Promise<FileSet[]> {
  const names = await findFiles(paths, cwd);
  const files = await Promise.all(names.map(async (name) => parseYaml(name, await readText(name, cwd))));
  const errors: FileError[] = [];
  const sets = new Map<string, FileMonitor[]>();
  for (const file of files) {
    const set = readFile(file, source, env, errors);
    sets.set(set.source, [...(sets.get(set.source) ?? []), ...set.monitors]);
  }
  errors.push(...repeatedKeys([...sets.values()].flat()));
  if (errors.length > 0) throw invalidFiles(errors);
  return [...sets]
    .map(([name, monitors]) => ({ source: name, monitors }))
    .toSorted((one, other) => (one.source < other.source ? -1 : 1));
}

/** @param errors receives the errors of the file */
function readFile(
  file: YamlFile,
  source: string | undefined,
  env: Terminal['env'],
  errors: FileError[],
): FileSet {
  const report = (path: readonly string[], message: string): void => {
    errors.push({ position: file.position(path), message });
  };
  const value = mapTexts(file.value, (text, path) =>
    interpolate(text, env, (message) => report(path, message)),
  );
  const outer = outerSchema.safeParse(value);
  if (!outer.success) {
    for (const { path, message } of toFieldErrors(outer.error.issues, monitorFileSchema))
      report(path.split('.'), path === '' ? 'must contain source and monitors' : `${path} ${message}`);
    return { source: '', monitors: [] };
  }
  const defaults = fileDefaultsSchema.safeParse(outer.data.defaults ?? {});
  if (!defaults.success) {
    for (const { path, message } of toFieldErrors(defaults.error.issues, fileDefaultsSchema))
      report(['defaults', ...path.split('.')], withField(path, message));
  }
  const own = outer.data.source ?? source?.trim();
  if (own === undefined)
    report([], 'has no source: add `source: …`, the name of the owner of these monitors');
  const applied = defaults.success ? (outer.data.defaults ?? {}) : {};
  return {
    source: own ?? '',
    monitors: (outer.data.monitors ?? []).flatMap((entry, index) =>
      readMonitor(file, index, entry, applied, errors),
    ),
  };
}

function readMonitor(
  file: YamlFile,
  index: number,
  entry: unknown,
  defaults: Readonly<Record<string, unknown>>,
  errors: FileError[],
): FileMonitor[] {
  const at = ['monitors', String(index)];
  const position = (path: string): Position => {
    const segments = path === '' ? [] : path.split('.');
    const [field = ''] = segments;
    const isDefault = !file.has([...at, field]) && file.has(['defaults', field]);
    return file.position([...(isDefault ? ['defaults'] : at), ...segments]);
  };
  const isObject = typeof entry === 'object' && entry !== null && !Array.isArray(entry);
  const fields: unknown = isObject ? { ...defaults, ...entry } : entry;
  const parsed = validateMonitor(monitorSetEntrySchema, fields);
  for (const { path, message } of parsed.errors) {
    const text =
      path === 'source'
        ? '`source` belongs at the top of the file, because all monitors of a file have the same source'
        : withField(path, message);
    errors.push({ position: position(path), message: text });
  }
  if (parsed.input === null) return [];
  return [
    {
      externalId: parsed.input.externalId,
      fields: fields as FileMonitor['fields'],
      hidden: fieldsWithVariables(file.value, index),
      position,
    },
  ];
}

/** @param value the file before variables are replaced */
function fieldsWithVariables(value: unknown, index: number): ReadonlyMap<string, unknown> {
  const { defaults, monitors } = value as { defaults?: object | null; monitors: readonly object[] };
  const fields = Object.entries({ ...defaults, ...monitors[index] });
  return new Map(fields.filter(([, field]) => containsVariable(field)));
}

function withField(path: string, message: string): string {
  return path === '' ? message : `${path} ${message}`;
}

function repeatedKeys(monitors: readonly FileMonitor[]): FileError[] {
  const first = new Map<string, FileMonitor>();
  return monitors.flatMap((monitor) => {
    const other = first.get(monitor.externalId);
    if (other === undefined) {
      first.set(monitor.externalId, monitor);
      return [];
    }
    const where = positionText(other.position('externalId'));
    const message = `externalId "${monitor.externalId}" is already used at ${where}`;
    return [{ position: monitor.position('externalId'), message }];
  });
}
