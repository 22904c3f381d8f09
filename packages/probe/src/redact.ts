export const REDACTED = '[hidden]';
/** Shorter strings occur in any text, and no secret is this short. */
const MIN_SECRET_CHARACTERS = 8;
/** Characters around secrets in header values and bodies, such as `Bearer …`, `session=…; theme=dark`, JSON and forms. */
const SEPARATORS = /[\s"'&=:;,{}[\]<>]+/;
/** Values of these headers are not secret and help to understand a failure. */
const PUBLIC_HEADERS = /^(host|user-agent|accept|accept-.*|content-.*|origin|referer)$/i;
/** Up to this number of secrets, searching for each separately is faster than `startsIn`. */
const FEW_SECRETS = 16;
const MAX_QUOTED_CHARACTERS = 500;

/** Fields of a request that may contain secrets, and the URL, which is stored in plain text. */
export interface SentRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: string | null;
}

/** Redacts a request's header values and body in text that its target may have composed, such as an error or a redirect. */
export function redactSent(text: string, { url, headers, body }: SentRequest): string {
  const values = Object.entries(headers ?? {}).flatMap(([name, value]) =>
    PUBLIC_HEADERS.test(name) ? [] : [value],
  );
  if (body !== null) values.push(body);
  const secrets = new Set(values.flatMap(secretsIn));
  const starts = secrets.size > FEW_SECRETS ? startsIn(text) : null;
  let redacted = text;
  for (const secret of secrets) {
    if (url.includes(secret)) continue;
    for (const form of encodingsOf(secret)) {
      const start = form.slice(0, MIN_SECRET_CHARACTERS);
      if (starts === null || starts.has(start) || starts.has(start.toLowerCase()))
        redacted = removeText(redacted, form);
    }
  }
  return redacted;
}

/** Returns sequences that could start a secret. Searching for tens of thousands of parts separately would block the process for seconds. */
function startsIn(text: string): ReadonlySet<string> {
  const starts = new Set<string>();
  for (const form of [text, text.toLowerCase()]) {
    for (let at = 0; at + MIN_SECRET_CHARACTERS <= form.length; at += 1)
      starts.add(form.slice(at, at + MIN_SECRET_CHARACTERS));
  }
  return starts;
}

/** Returns the longest secrets first, because redacting a part would break up the whole. */
function secretsIn(value: string): string[] {
  const parts = [value, ...value.split(/\s+/), ...value.split(SEPARATORS)];
  const basic = /^basic\s+(\S+)$/i.exec(value)?.[1];
  if (basic !== undefined) parts.push(...Buffer.from(basic, 'base64').toString().split(':'));
  return parts
    .filter((part) => part.length >= MIN_SECRET_CHARACTERS)
    .toSorted((one, other) => other.length - one.length);
}

function encodingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
}

/** Ignores case, because host names and content codings arrive in lower case. */
function removeText(text: string, secret: string): string {
  const lower = text.toLowerCase();
  const wanted = secret.toLowerCase();
  // A change of case may change the length of the text, and then positions differ.
  if (lower.length !== text.length || !lower.includes(wanted)) return text.replaceAll(secret, REDACTED);
  let result = '';
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    result += text.slice(from, at) + REDACTED;
    from = at + wanted.length;
  }
  return result + text.slice(from);
}

/** Quotes text of a target. Omits long text, because cutting it might leave half a secret. */
export function quote(text: string): string {
  return text.length > MAX_QUOTED_CHARACTERS ? `a text of ${text.length} characters` : `“${text}”`;
}
