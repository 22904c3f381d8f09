import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { headerVariables, monitorFields } from './monitor-fields.ts';

/** One word of a POSIX shell that means exactly `text`. */
export function shellQuote(text: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(text) ? text : `'${withinQuotes(text)}'`;
}

/** `text` as it must be written between single quotes. */
export function withinQuotes(text: string): string {
  return text.replaceAll("'", String.raw`'\''`);
}

/**
 * The command that writes a monitor as it is now. Values of headers are shell variables: with one that is not set the shell refuses
 * to run it, so that no header is overwritten with nothing.
 * @param origin where the api is, as `https://tocsin.example.com`
 */
export function monitorCurl(monitor: Monitor, origin: string): string {
  return [
    `curl -X PUT ${shellQuote(`${origin}/api/cli/monitors/${monitor.id}`)}`,
    `-H "Authorization: Bearer $TOCSIN_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `--data-raw '${quotedBody(monitor)}'`,
  ].join(' \\\n  ');
}

/** The JSON as it is written between single quotes. */
function quotedBody(monitor: Monitor): string {
  const entries = monitorFields(monitor).map(([field, value]) => {
    const text = field === 'headers' ? quotedHeaders(monitor) : withinQuotes(JSON.stringify(value, null, 2));
    // Line breaks of values are escaped in JSON: these are its own.
    return `"${field}": ${text}`.replaceAll('\n', '\n  ');
  });
  return `{\n  ${entries.join(',\n  ')}\n}`;
}

function quotedHeaders(monitor: Monitor): string {
  const entries = [...headerVariables(monitor)].map(
    // Single quotes end the literal text, so that the shell puts the variable between the JSON's double quotes.
    ([header, variable]) => `${withinQuotes(JSON.stringify(header))}: "'"\${${variable}:?}"'"`,
  );
  return entries.length === 0 ? '{}' : `{\n  ${entries.join(',\n  ')}\n}`;
}
