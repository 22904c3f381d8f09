import { LIMITS } from '@tocsin/contracts/limits';
import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type ErrorCode,
  type Node,
} from 'yaml';
import { CliError } from '../terminal/cli-error.ts';
import { resolveAliases } from './resolve-aliases.ts';

/** Position in a file. Lines and columns count from 1. */
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

/** Reports invalid files with the position of each problem. */
export class InvalidFilesError extends CliError {
  readonly errors: readonly FileError[];

  constructor(errors: readonly FileError[]) {
    const lines = errors
      .slice(0, MAX_ERRORS)
      .map(({ position, message }) => `  ${positionText(position)}: ${message}`);
    if (errors.length > MAX_ERRORS) lines.push(`  … and ${errors.length - MAX_ERRORS} more`);
    super(errors.length === 1 ? '1 error in the files:' : `${errors.length} errors in the files:`, { lines });
    this.errors = errors;
  }
}

export interface YamlFile {
  readonly name: string;
  readonly value: unknown;
  /** Position of the deepest existing part of the path. */
  position(path: readonly string[]): Position;
  has(path: readonly string[]): boolean;
}

/** Limit of a request to the API. Also stops nested aliases that would exhaust the memory. */
const MAX_VALUES = LIMITS.bodyValues;

/** Replaces messages of the parser that do not say what to do. */
const MESSAGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_DQ_ESCAPE: 'this escape sequence is not valid; use single quotes, or write `\\\\` for a backslash',
  BAD_INDENT: 'the indentation is wrong, or a closing bracket is missing',
  BAD_SCALAR_START: 'a value cannot start with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'this line contains a second `key:`; put text that contains `: ` in quotes',
  BLOCK_IN_FLOW: 'lists with `- ` and indented keys cannot be inside [ ] or { }',
  DUPLICATE_KEY: 'this key is used twice',
  MISSING_CHAR: 'a quote, bracket, comma, `:` or space is missing here',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line; is a `:` or a quote missing?',
  MULTIPLE_DOCS: 'a file must contain one YAML document; move the part after `---` to another file',
  TAB_AS_INDENT: 'tabs cannot be used for indentation; use spaces',
  UNEXPECTED_TOKEN: 'this text is unexpected; is a quote or bracket missing before it?',
};

/** @throws InvalidFilesError if the text is not valid YAML */
export function parseYaml(name: string, text: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false });
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { file: name, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const errors = document.errors.map(({ pos, code, message }) => ({
    position: positionAt(pos[0]),
    // The parser takes a line with too little indentation for an item of the list above.
    message: MESSAGES[message === 'Sequence item without - indicator' ? 'BAD_INDENT' : code] ?? message,
  }));
  const size = resolveAliases(document, (alias, message) => {
    errors.push({ position: positionAt(offsetOf(alias) ?? 0), message });
  });
  if (size > MAX_VALUES) {
    const message = `with its aliases, the file has more than ${MAX_VALUES} values`;
    errors.push({ position: positionAt(0), message });
  }
  // The first error of a line usually causes the others.
  const seenLines = new Set<number>();
  const first = errors.filter(({ position: { line } }) => !seenLines.has(line) && seenLines.add(line));
  if (first.length > 0) throw new InvalidFilesError(first);
  return {
    name,
    value: toValue(document, positionAt(0)),
    position: (path) => positionAt(locate(document, path).offset),
    has: (path) => locate(document, path).depth === path.length,
  };
}

function toValue(document: Document.Parsed, position: Position): unknown {
  try {
    return document.toJS();
  } catch {
    const message = 'a merge (`<<`) cannot be resolved; only mappings can be merged';
    throw new InvalidFilesError([{ position, message }]);
  }
}

/** Finds the deepest existing part of a path. */
function locate(document: Document.Parsed, path: readonly string[]): { offset: number; depth: number } {
  let node: unknown = document.contents;
  let offset = offsetOf(node) ?? 0;
  for (const [depth, segment] of path.entries()) {
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
