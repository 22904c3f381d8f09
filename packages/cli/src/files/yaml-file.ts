import { LIMITS } from '@tocsin/contracts/limits';
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node } from 'yaml';
import { CliError } from '../terminal/cli-error.ts';

/** A position in a file. Line and column count from 1. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface FileError {
  readonly position: Position;
  readonly message: string;
}

export function positionText({ file, line, column }: Position): string {
  return `${file}:${line}:${column}`;
}

const MAX_ERRORS = 50;

/** The error for invalid files, with the position of each problem. */
export function invalidFiles(errors: readonly FileError[]): CliError {
  const lines = errors
    .slice(0, MAX_ERRORS)
    .map(({ position, message }) => `  ${positionText(position)}: ${message}`);
  if (errors.length > MAX_ERRORS) lines.push(`  … and ${errors.length - MAX_ERRORS} more`);
  return new CliError(
    errors.length === 1 ? '1 error in the files:' : `${errors.length} errors in the files:`,
    lines,
  );
}

/** A parsed file with the positions of its parts. */
export interface YamlFile {
  readonly name: string;
  readonly value: unknown;
  /** The position of the deepest existing part of the path. */
  position(path: readonly string[]): Position;
  has(path: readonly string[]): boolean;
}

/** Ten for each monitor of the largest set. Nested aliases that would exhaust the memory exceed this by far. */
const MAX_ALIASES = 10 * LIMITS.monitorSetSize;

/** @throws CliError if the text is not valid YAML */
export function parseYaml(name: string, text: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false });
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { file: name, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  if (document.errors.length > 0) {
    throw invalidFiles(
      document.errors.map(({ pos, message }) => ({ position: positionAt(pos[0]), message })),
    );
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    const message = error instanceof Error ? error.message : 'cannot be parsed';
    throw invalidFiles([{ position: positionAt(0), message }]);
  }
  return {
    name,
    value,
    position: (path) => positionAt(locate(document, path).offset),
    has: (path) => locate(document, path).depth === path.length,
  };
}

/** The start of the deepest existing part of a path: a key, or an item of a list. */
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
