import type { IncomingMessage } from 'node:http';
import { differentLengths } from './repeated-length.ts';

/**
 * Options of a request whose response is read as other clients read it: folded headers, lines that end in LF, a length and chunks, spaces
 * after a chunk size. This is safe because a connection carries one response and is then closed.
 */
export const LENIENT_PARSING = {
  insecureHTTPParser: true,
  /** Generous for real servers, and a bound on endless headers. */
  maxHeaderSize: 64 * 1024,
} as const;

/** The versions that Node's parser accepts in its strict mode. */
const HTTP_VERSIONS = new Set(['0.9', '1.0', '1.1', '2.0']);

/** Describes what Node's parser accepts in its lenient mode and other clients reject; null for nothing. */
export function problemOfHead({ httpVersion, headers, rawHeaders }: IncomingMessage): string | null {
  if (differentLengths(headers)) return 'different values of Content-Length';
  if (!HTTP_VERSIONS.has(httpVersion)) return `HTTP version ${httpVersion}`;
  return rawHeaders.some((text) => text.includes('\0')) ? 'NUL character in a header' : null;
}
