/** Null is an empty cell. */
export type CsvCell = string | number | null;

/** A spreadsheet runs such text as a formula; some import it without its leading white space, or with full-width signs. */
const FORMULA = /^[\t\r\n]|^\s*[=+\-@＝＋－＠]/;
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;

/** Formats a table as RFC 4180: lines end with CRLF. Text that a spreadsheet would run as a formula gets a leading apostrophe. */
export function toCsv(header: readonly string[], rows: readonly (readonly CsvCell[])[]): string {
  return [header, ...rows].map((cells) => `${cells.map(toField).join(',')}\r\n`).join('');
}

function toField(cell: CsvCell): string {
  if (typeof cell !== 'string') return String(cell ?? '');
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** With it, Excel reads a file as UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';

/** Saves text as a file. @param name without characters that file systems refuse, with `.csv` at its end */
export function downloadCsv(name: string, csv: string): void {
  const url = URL.createObjectURL(new Blob([BYTE_ORDER_MARK, csv], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the content when the click returns, except WebKit, which reads it in a later task.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
