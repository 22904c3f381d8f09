import { stripVTControlCharacters } from 'node:util';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { Colors } from 'picocolors/types.js';

/**
 * What comes from others, such as names of monitors: without what a terminal obeys. Control characters move the cursor or hide what stands
 * there, others turn the direction of the line, and a new line could look like one of ours.
 */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '�');
}

/** JSON to print. It escapes most control characters by itself, but not all that terminals obey. */
export function jsonText(value: unknown, space?: number): string {
  return JSON.stringify(value, null, space).replaceAll(
    /[\u007f-\u009f\p{Bidi_Control}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A status in its colour. */
export function statusText(status: MonitorStatus, colors: Colors): string {
  if (status === 'UP') return colors.green(status);
  return status === 'DOWN' ? colors.red(status) : colors.yellow(status);
}

/** Lines of columns, the last of which may be as long as it likes. @param rows of plain texts, coloured or not */
export function tableText(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((row) => widthOf(row[column] ?? ''))));
  return lines
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}
