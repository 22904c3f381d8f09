import { stripVTControlCharacters } from 'node:util';

/** Lines of columns, the last of which may be as long as it likes. What comes from others cannot move the cursor. */
export function tableText(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((row) => widthOf(row[column] ?? ''))));
  return lines
    .map((row) =>
      row
        .map((cell, column) => printable(cell) + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Without control characters, but for those of our own colours. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}(?!\[\d+m)/gu, '�');
}

function widthOf(text: string): number {
  return stripVTControlCharacters(printable(text)).length;
}
