/** One word of a POSIX shell that means exactly `text`. */
export function shellQuote(text: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(text) ? text : `'${withinQuotes(text)}'`;
}

/** `text` as it must be written between single quotes. */
export function withinQuotes(text: string): string {
  return text.replaceAll("'", String.raw`'\''`);
}
