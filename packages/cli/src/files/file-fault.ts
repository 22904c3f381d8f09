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
