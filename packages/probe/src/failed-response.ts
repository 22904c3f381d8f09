import type { IncomingHttpHeaders } from 'node:http';
import type { FailedResponse } from '@tocsin/contracts/monitors/events';
import { REDACTED, redactSent, type SentRequest } from './redact.ts';

const MAX_HEADERS = 50;
const MAX_HEADER_CHARACTERS = 8_192;
const MAX_BODY_BYTES = 4_096;
/** Twice the kept size, so that a secret at the end is redacted as a whole. */
const BEGINNING_CHARACTERS = 2 * MAX_BODY_BYTES;
/** Values of these headers are credentials of the target. */
const SECRET_HEADERS =
  /cookie|authorization|x-auth|token|secret|password|api-?key|credential|signature|session/i;
/** Servers put tokens into queries and fragments. */
const LOCATION_QUERY = /[?#].*$/s;
/** Control characters (except tabs and line feeds), separators, direction overrides, and lone surrogates. */
const UNSAFE = /(?![\t\n])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\p{Surrogate}]/gu;

/** Returns the part of a body that `composeResponse` needs. A slice would keep the whole body in memory, so this makes a copy. */
export function beginningOf(body: string): string {
  return Buffer.from(body.slice(0, BEGINNING_CHARACTERS), 'utf16le').toString('utf16le');
}

/** Keeps at most 50 headers (8 KiB) and 4 KiB of the body of a failed check, without credentials and secrets of the request. */
export function composeResponse(
  headers: IncomingHttpHeaders,
  body: string | null,
  request: SentRequest,
): FailedResponse {
  const kept = keptHeaders(headers);
  // Redacting one text is faster than many. No secret contains NUL.
  const texts = [...kept.flat(), body ?? ''].map((text) => text.replaceAll('\0', ' '));
  const safe = redactSent(texts.join('\0'), request).split('\0').map(makeSafe);
  return {
    headers: Object.fromEntries(kept.map((_, index) => [safe[2 * index] ?? '', safe[2 * index + 1] ?? ''])),
    body: body === null ? null : cut(safe.at(-1) ?? ''),
  };
}

/** Omits long values instead of cutting them, because a cut may leave half a secret. */
function keptHeaders(headers: IncomingHttpHeaders): [name: string, value: string][] {
  const kept: [string, string][] = [];
  let characters = 0;
  for (const [name, value = ''] of Object.entries(headers)) {
    // Servers send UTF-8, which Node reads as Latin-1.
    const text = showHeader(name, Buffer.from(String(value), 'latin1').toString());
    if (kept.length === MAX_HEADERS) break;
    if (characters + name.length + text.length > MAX_HEADER_CHARACTERS) continue;
    characters += name.length + text.length;
    kept.push([name, text]);
  }
  return kept;
}

/** Returns the value of a response header without credentials of the target. @param name in lower case */
export function showHeader(name: string, value: string): string {
  if (SECRET_HEADERS.test(name)) return REDACTED;
  return name === 'location' ? value.replace(LOCATION_QUERY, '…') : value;
}

function makeSafe(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSAFE, ' ');
}

/** Removes the rest of a character that the cut has split. */
function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_BODY_BYTES) return text;
  return bytes
    .subarray(0, MAX_BODY_BYTES)
    .toString()
    .replace(/\uFFFD+$/, '');
}
