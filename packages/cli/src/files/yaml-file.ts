import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { LIMITS } from '@tocsin/contracts/limits';
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { CliError } from '../terminal/cli-error.ts';

/** Where something stands in a file: line and column count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface FileFault {
  readonly place: Place;
  readonly message: string;
}

export function placeText({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** Most faults that are told at once. */
const MOST_FAULTS = 50;

/** The error of files that are not as they must be, each fault with its place. */
export function faultyFiles(faults: readonly FileFault[]): CliError {
  const lines = faults.slice(0, MOST_FAULTS).map(({ place, message }) => `  ${placeText(place)}: ${message}`);
  if (faults.length > MOST_FAULTS) lines.push(`  … and ${faults.length - MOST_FAULTS} more`);
  const what = faults.length === 1 ? 'There is a fault' : `There are ${faults.length} faults`;
  return new CliError(`${what} in what the files say:`, lines);
}

/** A file as YAML says it, and where each part stands. */
export interface YamlFile {
  readonly name: string;
  readonly value: unknown;
  /** Of the deepest part of the path that is there. */
  place(path: readonly string[]): Place;
  has(path: readonly string[]): boolean;
}

/** @throws CliError where it cannot be read, or is no YAML */
export async function readYamlFile(name: string, cwd: string): Promise<YamlFile> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, name), 'utf8');
  } catch (error) {
    throw new CliError(`${name} cannot be read.`, [], error);
  }
  return parseYaml(name, text);
}

/** Ten of each monitor of the largest set; a few lines that stand for more than any memory holds come to far more. */
const MOST_ALIASES = 10 * LIMITS.monitorSetSize;

/** @throws CliError where it is no YAML */
export function parseYaml(name: string, text: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false });
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file: name, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  if (document.errors.length > 0) {
    throw faultyFiles(document.errors.map(({ pos, message }) => ({ place: placeAt(pos[0]), message })));
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (error) {
    const message = error instanceof Error ? error.message : 'cannot be read';
    throw faultyFiles([{ place: placeAt(0), message }]);
  }
  return {
    name,
    value,
    place: (path) => placeAt(locate(document, path).offset),
    has: (path) => locate(document, path).depth === path.length,
  };
}

/** Where the deepest part of a path that is there begins: a key, or an item of a list. */
function locate(document: Document.Parsed, path: readonly string[]): { offset: number; depth: number } {
  let node: unknown = document.contents;
  let offset = offsetOf(node) ?? 0;
  for (const [depth, segment] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === segment);
      if (pair === undefined) return { offset, depth };
      offset = offsetOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && node.items[Number(segment)] !== undefined) {
      node = node.items[Number(segment)];
      offset = offsetOf(node) ?? offset;
    } else return { offset, depth };
  }
  return { offset, depth: path.length };
}

function offsetOf(node: unknown): number | null {
  return (node as Node | null)?.range?.[0] ?? null;
}
