import { stripVTControlCharacters } from 'node:util';

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
