import { stripVTControlCharacters } from 'node:util';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { Colors } from 'picocolors/types.js';

/**
 * Replaces control characters in untrusted text, such as monitor names. Otherwise, text could move the cursor, hide text, reverse the
 * direction of a line, or imitate output of the command.
 */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '�');
}

/** Quotes a word for POSIX shells if necessary. */
export function shellWord(text: string): string {
  return /^[\w./:@+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Formats JSON for a terminal. `JSON.stringify` does not escape all control characters. */
export function jsonText(value: unknown, space?: number): string {
  return JSON.stringify(value, null, space).replaceAll(
    /[\u007f-\u009f\p{Bidi_Control}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns null if the text is not JSON. */
export function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return null;
  }
}

export function statusText(status: MonitorStatus, colors: Colors): string {
  if (status === 'UP') return colors.green(status);
  return status === 'DOWN' ? colors.red(status) : colors.yellow(status);
}

/** Formats aligned columns. @param rows plain or colored text */
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
