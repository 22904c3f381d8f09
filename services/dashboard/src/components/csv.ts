/** Null for an empty cell. */
export type CsvCell = string | number | null;

/** Matches text that spreadsheets run as a formula. Some ignore leading white space, or accept full-width signs. */
const FORMULA = /^[\t\r\n]|^\s*[=+\-@＝＋－＠]/;
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;

/** Formats a table as RFC 4180, in which lines end with CRLF. Text that a spreadsheet would run as a formula gets a leading apostrophe. */
export function toCsv(header: readonly string[], rows: readonly (readonly CsvCell[])[]): string {
  return [header, ...rows].map((cells) => `${cells.map(toField).join(',')}\r\n`).join('');
}

function toField(cell: CsvCell): string {
  if (typeof cell !== 'string') return String(cell ?? '');
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Makes Excel read the file as UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';

/** Saves text as a file. @param name ends with `.csv`, without characters that file systems reject */
export function downloadCsv(name: string, csv: string): void {
  const url = URL.createObjectURL(new Blob([BYTE_ORDER_MARK, csv], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // WebKit reads the content in a later task.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
