import type { FieldError } from '@tocsin/contracts/errors';
import { toFieldErrors } from '@tocsin/contracts/field-errors';
import { fileDefaultsSchema, monitorFileSchema } from '@tocsin/contracts/monitor-sets/monitor-file';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import { z } from 'zod';
import type { Terminal } from '../terminal/terminal.ts';
import { findFiles } from './find-files.ts';
import { holdsVariable, interpolate } from './interpolate.ts';
import {
  faultyFiles,
  type FileFault,
  type Place,
  placeText,
  readYamlFile,
  type YamlFile,
} from './yaml-file.ts';

/** A monitor as a file has it, with its variables and the defaults of its file, and where its fields stand. */
interface FileMonitor {
  readonly externalId: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Those of them that hold variables, as the file has them: what these stand for may be secret, and is shown nowhere. */
  readonly hidden: ReadonlyMap<string, unknown>;
  place(path: string): Place;
}

/** All that the files say of one source. */
export interface FileSet {
  readonly source: string;
  readonly monitors: readonly FileMonitor[];
}

/** Of a file without its variables: monitors and defaults are judged one by one. */
const outerSchema = monitorFileSchema.extend({
  defaults: z.record(z.string(), z.unknown(), { error: 'must be fields of a monitor' }).nullish(),
  monitors: z.array(z.unknown(), { error: 'must be a list of monitors' }).nullable(),
});

/**
 * Reads files, or the files of folders, and judges them as the API will.
 * @param source of files that name none
 * @throws CliError with every fault and its place
 */
export async function loadSets(
  paths: readonly string[],
  source: string | undefined,
  { cwd, env }: Pick<Terminal, 'cwd' | 'env'>,
): Promise<FileSet[]> {
  const names = await findFiles(paths, cwd);
  const files = await Promise.all(names.map((name) => readYamlFile(name, cwd)));
  const faults: FileFault[] = [];
  const sets = new Map<string, FileMonitor[]>();
  for (const file of files) {
    const { source: own, monitors } = readFile(file, source, env, faults);
    sets.set(own, [...(sets.get(own) ?? []), ...monitors]);
  }
  faults.push(...repeatedKeys([...sets.values()].flat()));
  if (faults.length > 0) throw faultyFiles(faults);
  return [...sets]
    .map(([name, monitors]) => ({ source: name, monitors }))
    .toSorted((one, other) => (one.source < other.source ? -1 : 1));
}

/** @param faults takes what is wrong */
function readFile(
  file: YamlFile,
  source: string | undefined,
  env: Terminal['env'],
  faults: FileFault[],
): FileSet {
  const fault = (path: readonly string[], message: string): void => {
    faults.push({ place: file.place(path), message });
  };
  const value = interpolateAll(file.value, [], env, fault);
  const outer = outerSchema.safeParse(value);
  if (!outer.success) {
    for (const { path, message } of toFieldErrors(outer.error.issues, monitorFileSchema))
      fault(path.split('.'), path === '' ? 'must hold source and monitors' : named(path, message));
    return { source: '', monitors: [] };
  }
  const { defaults, monitors } = outer.data;
  const judged = fileDefaultsSchema.safeParse(defaults ?? {});
  if (!judged.success) {
    for (const error of toFieldErrors(judged.error.issues, fileDefaultsSchema))
      fault(['defaults', ...error.path.split('.')], named(error.path, error.message));
  }
  const own = outer.data.source ?? source?.trim();
  if (own === undefined)
    fault([], 'names no source: add `source: …`, the name of whoever owns these monitors');
  return {
    source: own ?? '',
    monitors: (monitors ?? []).flatMap((entry, index) =>
      readMonitor(file, index, entry, judged.success ? (defaults ?? {}) : {}, faults),
    ),
  };
}

function readMonitor(
  file: YamlFile,
  index: number,
  entry: unknown,
  defaults: Readonly<Record<string, unknown>>,
  faults: FileFault[],
): FileMonitor[] {
  const at = ['monitors', String(index)];
  const place = (path: string): Place => {
    const segments = path === '' ? [] : path.split('.');
    const [field = ''] = segments;
    const isDefault = !file.has([...at, field]) && file.has(['defaults', field]);
    return file.place([...(isDefault ? ['defaults'] : at), ...segments]);
  };
  const isObject = typeof entry === 'object' && entry !== null && !Array.isArray(entry);
  const fields: unknown = isObject ? { ...defaults, ...entry } : entry;
  const { input, errors } = validateMonitor(monitorSetEntrySchema, fields);
  faults.push(...errors.map((error) => ({ place: place(error.path), message: messageOf(error) })));
  if (input === null) return [];
  const hidden = variableFields(file.value, index);
  return [{ externalId: input.externalId, fields: fields as Record<string, unknown>, hidden, place }];
}

/** The fields of a monitor that hold variables, in it or in the defaults. @param value the file without its variables */
function variableFields(value: unknown, index: number): ReadonlyMap<string, unknown> {
  const { defaults, monitors } = value as { defaults?: object | null; monitors: readonly object[] };
  const written = Object.entries({ ...defaults, ...monitors[index] });
  return new Map(written.filter(([, part]) => holdsVariable(part)));
}

function messageOf({ path, message }: FieldError): string {
  if (path !== 'source') return named(path, message);
  return '`source` belongs at the top of the file: all its monitors have the same';
}

function named(path: string, message: string): string {
  return path === '' ? message : `${path} ${message}`;
}

function repeatedKeys(monitors: readonly FileMonitor[]): FileFault[] {
  const first = new Map<string, FileMonitor>();
  return monitors.flatMap((monitor) => {
    const other = first.get(monitor.externalId);
    if (other === undefined) {
      first.set(monitor.externalId, monitor);
      return [];
    }
    const where = placeText(other.place('externalId'));
    const message = `externalId "${monitor.externalId}" is that of the monitor at ${where} too`;
    return [{ place: monitor.place('externalId'), message }];
  });
}

/** Every text of a value, but not its keys. */
function interpolateAll(
  value: unknown,
  path: readonly string[],
  env: Terminal['env'],
  fault: (path: readonly string[], message: string) => void,
): unknown {
  if (typeof value === 'string') return interpolate(value, env, (message) => fault(path, message));
  if (Array.isArray(value))
    return value.map((item, index) => interpolateAll(item, [...path, String(index)], env, fault));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, interpolateAll(part, [...path, key], env, fault)]),
  );
}
