import { channelSetEntrySchema } from '@tocsin/contracts/channels/channel';
import type { FieldError } from '@tocsin/contracts/errors';
import { toFieldErrors } from '@tocsin/contracts/field-errors';
import { fileDefaultsSchema, monitorFileSchema } from '@tocsin/contracts/monitor-sets/monitor-file';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import { z } from 'zod';
import type { Terminal } from '../terminal/terminal.ts';
import { readText, STDIN } from '../terminal/text-file.ts';
import { findFiles } from './find-files.ts';
import { interpolate, mapTexts, type UnsetState } from './interpolate.ts';
import {
  InvalidFilesError,
  positionText,
  parseYaml,
  type FileError,
  type Position,
  type YamlFile,
} from './yaml-file.ts';

/** A monitor or channel in a file, with variables replaced and defaults applied. */
export interface FileEntry<Valid> {
  readonly externalId: string;
  readonly fields: Valid;
  /** Fields before variables were replaced. The values of variables may be secret and are never shown. */
  readonly written: Fields;
  position(path: string): Position;
}

type FileMonitor = FileEntry<z.input<typeof monitorSetEntrySchema>>;
type FileChannel = FileEntry<z.input<typeof channelSetEntrySchema>>;

/** Monitors and channels of a source across all files. */
export interface FileSet {
  readonly source: string;
  readonly monitors: readonly FileMonitor[];
  /** Null if no file has `channels`, so that channels stay untouched. */
  readonly channels: readonly FileChannel[] | null;
}

export interface FileContents {
  /** Incomplete if there are errors. */
  readonly sets: readonly FileSet[];
  readonly fileCount: number;
  readonly errors: readonly FileError[];
  /** One error for each unset variable, with all positions. */
  readonly unset: readonly FileError[];
}

type Input = Pick<Terminal, 'cwd' | 'env' | 'hide'> & Partial<Pick<Terminal, 'readStdin'>>;

interface Problems {
  readonly errors: FileError[];
  readonly unset: Map<string, { readonly state: UnsetState; readonly positions: Position[] }>;
}

/** Monitors, channels and defaults are validated one by one. */
const outerSchema = monitorFileSchema.extend({
  defaults: z.record(z.string(), z.unknown(), { error: 'must be fields of a monitor' }).nullish(),
  monitors: z.array(z.unknown(), { error: 'must be a list of monitors' }).nullable(),
  channels: z.array(z.unknown(), { error: 'must be a list of channels' }).nullish(),
});

type Content = z.infer<typeof outerSchema>;

/**
 * Reads files and folders, and validates them like the API.
 * @param source source of files that do not name one
 * @throws CliError with every error and its position, including unset variables
 */
export async function loadSets(
  paths: readonly string[],
  source: string | undefined,
  input: Input,
): Promise<readonly FileSet[]> {
  const { sets, errors, unset } = await readSets(paths, source, input);
  if (errors.length + unset.length > 0) throw new InvalidFilesError([...unset, ...errors]);
  return sets;
}

/** Like `loadSets`, but returns the errors. @throws CliError if a file cannot be read */
export async function readSets(
  paths: readonly string[],
  source: string | undefined,
  input: Input,
): Promise<FileContents> {
  const names = await findFiles(paths, input.cwd);
  const texts = await Promise.all(names.map(async (name) => [name, await readText(name, input)] as const));
  hideVariables(texts.map(([, text]) => text).join('\n'), input);
  const problems: Problems = { errors: [], unset: new Map() };
  const sets = new Map<string, FileSet>();
  for (const [name, text] of texts) {
    const set = readFile(name === STDIN.path ? STDIN.name : name, text, source, input.env, problems);
    if (set !== null) sets.set(set.source, joinSets(sets.get(set.source), set));
  }
  const found = [...sets.values()];
  problems.errors.push(
    ...repeatedKeys(found.flatMap(({ monitors }) => monitors)),
    ...repeatedKeys(found.flatMap(({ channels }) => channels ?? [])),
  );
  return {
    sets: found.toSorted((one, other) => (one.source < other.source ? -1 : 1)),
    fileCount: names.length,
    errors: problems.errors,
    unset: [...problems.unset].flatMap(([name, { state, positions }]) =>
      toUnsetError(name, state, positions),
    ),
  };
}

/** Variables that no file uses any more may still be in current monitors. */
const SECRET_NAME = /(TOKEN|SECRET|PASSWORD|KEY|CREDENTIALS)$/i;

/** Hides the values of variables in the files, and of variables that are secret by their name. */
function hideVariables(text: string, { env, hide }: Input): void {
  const used = new Set(Array.from(text.matchAll(/\$\{(\w+)/g), ([, name]) => name));
  for (const [name, value = ''] of Object.entries(env))
    if (used.has(name) || SECRET_NAME.test(name)) hide(name, value);
}

function joinSets(first: FileSet | undefined, { source, monitors, channels }: FileSet): FileSet {
  const { channels: others = null, monitors: before = [] } = first ?? {};
  return {
    source,
    monitors: [...before, ...monitors],
    channels: others === null ? channels : [...others, ...(channels ?? [])],
  };
}

function toUnsetError(name: string, state: UnsetState, [first, ...others]: readonly Position[]): FileError[] {
  if (first === undefined) return [];
  const also = others.length === 0 ? '' : `; also used at ${others.map(positionText).join(', ')}`;
  const message = `the environment variable ${name} ${state}; \${${name}:-text} sets a default, $\${ is a literal \${${also}`;
  return [{ position: first, message }];
}

/** @returns null if the YAML or the outer fields are invalid */
function readFile(
  name: string,
  text: string,
  source: string | undefined,
  env: Terminal['env'],
  problems: Problems,
): FileSet | null {
  const file = parseFile(name, text, problems);
  if (file === null) return null;
  const report = (path: readonly string[], message: string): void => {
    problems.errors.push({ position: file.position(path), message });
  };
  const value = withVariables(file, env, problems);
  const outer = outerSchema.safeParse(value);
  if (!outer.success) {
    for (const { path, message } of toFieldErrors(outer.error.issues, monitorFileSchema))
      report(path.split('.'), path === '' ? 'must contain source and monitors' : `${path} ${message}`);
    return null;
  }
  const defaults = fileDefaultsSchema.safeParse(outer.data.defaults ?? {});
  if (!defaults.success) {
    for (const { path, message } of toFieldErrors(defaults.error.issues, fileDefaultsSchema))
      report(['defaults', ...segmentsOf(path)], withField(path, message));
  }
  const own = outer.data.source ?? source?.trim();
  if (own === undefined)
    report([], 'has no source: add `source: …`, the name of the owner of these monitors');
  const content = defaults.success ? outer.data : { ...outer.data, defaults: {} };
  const { errors } = problems;
  return {
    source: own ?? '',
    monitors: readEntries('monitors', content, file, errors, (fields) =>
      validateMonitor(monitorSetEntrySchema, fields),
    ),
    channels:
      content.channels === undefined
        ? null
        : readEntries('channels', content, file, errors, (fields) => {
            const { data: input = null, error } = channelSetEntrySchema.safeParse(fields);
            return { input, errors: error ? toFieldErrors(error.issues, channelSetEntrySchema) : [] };
          }),
  };
}

function parseFile(name: string, text: string, { errors }: Problems): YamlFile | null {
  try {
    return parseYaml(name, text);
  } catch (error) {
    if (!(error instanceof InvalidFilesError)) throw error;
    errors.push(...error.errors);
    return null;
  }
}

function withVariables(file: YamlFile, env: Terminal['env'], { errors, unset }: Problems): unknown {
  return mapTexts(file.value, (text, path) =>
    interpolate(text, path, env, {
      onError: (message) => void errors.push({ position: file.position(path), message }),
      onUnset: (name, state) => {
        const found = unset.get(name) ?? { state, positions: [] };
        unset.set(name, found);
        found.positions.push(file.position(path));
      },
    }),
  );
}

/** @param content content of the file after variables were replaced */
function readEntries<Valid>(
  kind: 'monitors' | 'channels',
  content: Content,
  file: YamlFile,
  errors: FileError[],
  validate: (fields: unknown) => { input: { externalId: string } | null; errors: readonly FieldError[] },
): FileEntry<Valid>[] {
  const fieldsIn = ({ [kind]: entries, defaults }: Content, index: number): unknown =>
    withDefaults(kind === 'monitors' ? defaults : {}, entries?.[index]);
  return (content[kind] ?? []).flatMap((_, index) => {
    const at = [kind, String(index)];
    const position = (path: string): Position => {
      const segments = segmentsOf(path);
      const depth = segments.slice(0, segments[0] === 'labels' ? undefined : 1);
      const isDefault = !file.has([...at, ...depth]) && file.has(['defaults', ...depth]);
      return file.position([...(isDefault ? ['defaults'] : at), ...segments]);
    };
    const fields = fieldsIn(content, index);
    const { input, errors: invalid } = validate(fields);
    for (const { path, message } of invalid) {
      const text =
        kind === 'monitors' && path === 'source'
          ? '`source` belongs at the top of the file, because all monitors of a file have the same source'
          : withField(path, message);
      errors.push({ position: position(path), message: text });
    }
    if (input === null) return [];
    const written = fieldsIn(file.value as Content, index) as Fields;
    return { externalId: input.externalId, fields: fields as Valid, written, position };
  });
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A field replaces its default as a whole. Labels are merged with default labels, and null removes all of them. */
function withDefaults(defaults: Fields | null | undefined, entry: unknown): unknown {
  if (!isObject(entry)) return entry;
  const [common, own] = [defaults?.['labels'], entry['labels']];
  const merged = isObject(common) && isObject(own) ? { labels: { ...common, ...own } } : {};
  return { ...defaults, ...entry, ...merged };
}

/** Splits a dotted path. Label keys may contain dots. */
function segmentsOf(path: string): string[] {
  if (path === '') return [];
  const [, labels, key] = /^(labels)\.(.+)$/s.exec(path) ?? [];
  return labels === undefined || key === undefined ? path.split('.') : [labels, key];
}

function withField(path: string, message: string): string {
  return path === '' ? message : `${path} ${message}`;
}

function repeatedKeys(entries: readonly (FileMonitor | FileChannel)[]): FileError[] {
  const first = new Map<string, FileMonitor | FileChannel>();
  return entries.flatMap((entry) => {
    const other = first.get(entry.externalId);
    if (other === undefined) {
      first.set(entry.externalId, entry);
      return [];
    }
    const where = positionText(other.position('externalId'));
    const message = `externalId "${entry.externalId}" is already used at ${where}`;
    return [{ position: entry.position('externalId'), message }];
  });
}
