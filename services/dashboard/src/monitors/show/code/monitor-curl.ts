import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { headerVariables, keyVariable, monitorFields } from './monitor-fields.ts';

/** Quotes text as one word for a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(text) ? text : `'${withinQuotes(text)}'`;
}

/** Escapes text for single quotes. */
function withinQuotes(text: string): string {
  return text.replaceAll("'", String.raw`'\''`);
}

/**
 * A command that sets a monitor to its current configuration. Header values are shell variables. The shell does not run the command while
 * a variable is unset, so that no header is overwritten with an empty value.
 * @param origin such as `https://tocsin.example.com`
 */
export function monitorCurl(monitor: Monitor, origin: string): string {
  return [
    `curl -X PUT ${shellQuote(`${origin}/api/cli/monitors/${monitor.id}`)}`,
    `-H "Authorization: Bearer $TOCSIN_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `--data-raw '${quotedBody(monitor)}'`,
  ].join(' \\\n  ');
}

/** The JSON body, escaped for single quotes. */
function quotedBody(monitor: Monitor): string {
  // A variable with a key would break the JSON. Without the field, the monitor keeps its TLS settings.
  const fields = monitorFields(monitor).filter(([field]) => field !== 'tls' || keyVariable(monitor) === null);
  const entries = fields.map(([field, value]) => {
    const text = field === 'headers' ? quotedHeaders(monitor) : withinQuotes(JSON.stringify(value, null, 2));
    // Only line breaks between JSON tokens match, because those within values are escaped.
    return `"${field}": ${text}`.replaceAll('\n', '\n  ');
  });
  return `{\n  ${entries.join(',\n  ')}\n}`;
}

function quotedHeaders(monitor: Monitor): string {
  const entries = [...headerVariables(monitor)].map(
    // Closes the single quotes, so that the shell expands the variable between the JSON's double quotes.
    ([header, variable]) => `${withinQuotes(JSON.stringify(header))}: "'"\${${variable}:?}"'"`,
  );
  return entries.length === 0 ? '{}' : `{\n  ${entries.join(',\n  ')}\n}`;
}
