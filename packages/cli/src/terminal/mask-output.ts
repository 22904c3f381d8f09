import { mapTexts } from '../files/interpolate.ts';
import type { Terminal } from './terminal.ts';
import { jsonText, plain } from './text.ts';

/** Shorter values occur in other words. */
const MIN_CHARACTERS = 6;
/** A variable may contain the scheme. */
const URL_PARTS =
  /((?:[a-z][a-z\d+.-]*:\/\/|\$\{[^}]*\}(?::\/\/)?))([^\s"'<>/?#]*@)?([^\s"'<>?#]*)([?#][^\s"'<>]+)?/gi;

/** Masks user names, passwords and queries of URLs. */
export function maskUrls(text: string): string {
  return text.replaceAll(
    URL_PARTS,
    (_, scheme: string, user: string | undefined, rest: string, query: string | undefined) =>
      `${scheme}${user === undefined ? '' : '***@'}${rest}${query === undefined ? '' : '?***'}`,
  );
}

/** Adds `hide` and JSON to a terminal, and masks hidden values in everything that it writes. */
export function maskOutput(terminal: Omit<Terminal, 'hide' | 'printJson' | 'noteJson'>): Terminal {
  const names = new Map<string, string>();
  let pattern: RegExp | null = null;
  const mask = (text: string): string =>
    pattern === null ? text : text.replaceAll(pattern, (value) => `\${${names.get(value) ?? ''}}`);
  const maskNote = (text: string): string => maskUrls(mask(text));
  return {
    ...terminal,
    hide: (name, value) => {
      for (const form of formsOf(value)) if (!names.has(form)) names.set(form, name);
      // A value may contain another one.
      const longestFirst = [...names.keys()].toSorted((one, other) => other.length - one.length);
      if (longestFirst.length > 0) pattern = new RegExp(longestFirst.map(escape).join('|'), 'g');
    },
    print: (text) => terminal.print(mask(text)),
    note: (text) => terminal.note(maskNote(text)),
    // A value may equal a key.
    printJson: (value, space) => terminal.print(jsonText(mapTexts(value, mask), space)),
    noteJson: (value) => terminal.note(jsonText(mapTexts(value, maskNote))),
    progress: (text, total) => {
      const { update, stop } = terminal.progress(mask(text), total);
      return { update: (next, done) => update(mask(next), done), stop };
    },
    confirm: (question) => terminal.confirm(mask(question)),
  };
}

/** A value as it appears in text, JSON and URLs. Messages may contain a single line of it. */
function formsOf(value: string): string[] {
  return [value, ...value.split('\n')]
    .map((part) => part.trim())
    .flatMap((part) => [
      part,
      plain(part),
      part.toLowerCase(),
      jsonText(part).slice(1, -1),
      encodeURI(part),
      encodeURIComponent(part),
    ])
    .filter(({ length }) => length >= MIN_CHARACTERS);
}

function escape(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
