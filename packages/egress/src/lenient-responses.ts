import type { IncomingMessage } from 'node:http';
import { differentLengths } from './repeated-length.ts';

/** Reads responses as other clients do. This is safe because a connection carries only one response. */
export const LENIENT_PARSING = {
  insecureHTTPParser: true,
  /** Bounds endless headers, and suffices for real servers. */
  maxHeaderSize: 64 * 1024,
} as const;

/** HTTP versions that Node's strict parser accepts. */
const HTTP_VERSIONS = new Set(['0.9', '1.0', '1.1', '2.0']);

/** Describes what Node's strict parser would have refused, or returns null. */
export function problemOfHead({ httpVersion, headers, rawHeaders }: IncomingMessage): string | null {
  if (differentLengths(headers)) return 'different values of Content-Length';
  if (!HTTP_VERSIONS.has(httpVersion)) return `HTTP version ${httpVersion}`;
  return rawHeaders.some((text) => text.includes('\0')) ? 'NUL character in a header' : null;
}
