import type { ProbeTarget } from './probe.ts';

const HIDDEN = '[hidden]';
/** Shorter ones are found in any text; nothing that is worth hiding is so short. */
const LEAST_CHARACTERS = 8;
/** What may stand around a secret in a header value or a body: `Bearer …`, `session=…; theme=dark`, JSON, forms. */
const AROUND = /[\s"'&=:;,{}[\]<>]+/;
/** Their values are no secrets, and help to understand what went wrong. */
const OPEN_HEADERS = /^(host|user-agent|accept|accept-.*|content-.*|origin|referer)$/i;

/**
 * Hides what a check sends in confidence, the values of its headers and its body, in text that its target had a hand in: one
 * that echoes a request in an error or a redirect must not bring it into events and logs (design §6).
 */
export function hideSent(
  text: string,
  { url, headers, body }: Pick<ProbeTarget, 'url' | 'headers' | 'body'>,
): string {
  const values = Object.entries(headers ?? {}).flatMap(([name, value]) =>
    OPEN_HEADERS.test(name) ? [] : [value],
  );
  if (body !== null) values.push(body);
  const runs = runsOf(text);
  let hidden = text;
  for (const secret of new Set(values.flatMap(secretsIn))) {
    for (const form of formsOf(secret)) {
      // What the URL says is no secret: URLs are kept in clear.
      if (mayHold(runs, form) && !url.includes(secret)) hidden = withoutText(hidden, form);
    }
  }
  return hidden;
}

/**
 * Every run of the fewest characters of a secret, as it is and in lower case: headers and bodies may hold ten thousands of
 * parts, of which a search for each in turn would hold up the process for seconds.
 */
function runsOf(text: string): ReadonlySet<string> {
  const runs = new Set<string>();
  for (const form of [text, text.toLowerCase()]) {
    for (let at = 0; at + LEAST_CHARACTERS <= form.length; at += 1) {
      runs.add(form.slice(at, at + LEAST_CHARACTERS));
    }
  }
  return runs;
}

function mayHold(runs: ReadonlySet<string>, form: string): boolean {
  const start = form.slice(0, LEAST_CHARACTERS);
  return runs.has(start) || runs.has(start.toLowerCase());
}

/** The whole value and its parts, longest first: a part must not break up the whole. */
function secretsIn(value: string): string[] {
  const parts = [value, ...value.split(/\s+/), ...value.split(AROUND)];
  const basic = /^basic\s+(\S+)$/i.exec(value)?.[1];
  if (basic !== undefined) parts.push(...Buffer.from(basic, 'base64').toString().split(':'));
  return parts
    .filter((part) => part.length >= LEAST_CHARACTERS)
    .toSorted((one, other) => other.length - one.length);
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = bytes.toString('base64').replace(/=+$/, '');
  return [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    base64,
    base64.replaceAll('+', '-').replaceAll('/', '_'),
    bytes.toString('hex'),
  ];
}

/** Whatever the case: names of hosts and content codings come in lower case. */
function withoutText(text: string, hidden: string): string {
  const lower = text.toLowerCase();
  const wanted = hidden.toLowerCase();
  // Where changing the case changes the length, places in one text are none in the other.
  if (lower.length !== text.length || !lower.includes(wanted)) return text.replaceAll(hidden, HIDDEN);
  let result = '';
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    result += text.slice(from, at) + HIDDEN;
    from = at + wanted.length;
  }
  return result + text.slice(from);
}

const MOST_CHARACTERS = 500;

/**
 * Text of a target for a sentence about it, or only its length: longer text would be cut, which may leave half a secret that
 * is hidden only as a whole, and takes long to search.
 */
export function quoteForeign(text: string): string {
  return text.length > MOST_CHARACTERS ? `a text of ${text.length} characters` : `"${text}"`;
}
