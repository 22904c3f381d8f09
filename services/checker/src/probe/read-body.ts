import type { IncomingMessage } from 'node:http';

/** How much of a body is read, and how much a compressed one may unfold to (design §4 "Check"). */
export const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Collects the first 1 MiB of a body as it came over the wire and calls `done` once: with the bytes, or with why they
 * are incomplete. What comes after the bound is not waited for; the caller ends the connection.
 */
export function readBody(
  response: IncomingMessage,
  done: (bytes: Buffer | null, problem: string | null) => void,
): void {
  const chunks: Buffer[] = [];
  let length = 0;
  let finished = false;
  const finish = (problem: string | null): void => {
    if (finished) return;
    finished = true;
    if (problem === null) done(Buffer.concat(chunks, Math.min(length, MAX_BODY_BYTES)), null);
    else done(null, problem);
  };
  const cutOff = (): void => finish(`the connection was closed ${length} bytes into the body`);
  response.on('data', (chunk: Buffer) => {
    if (finished) return;
    chunks.push(chunk);
    length += chunk.length;
    if (length >= MAX_BODY_BYTES) finish(null);
  });
  // Node emits no `end` for a body that breaks off.
  response.on('end', () => finish(null));
  response.on('error', cutOff);
  response.on('close', cutOff);
}
