import type { IncomingMessage } from 'node:http';

/** How much of a body is read, and how much a compressed one may unfold to (design §4 "Check"). */
export const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Collects the first 1 MiB of a body as it came over the wire and calls `done` once: with the bytes, or with why they
 * are incomplete. What comes after the bound is not waited for; the caller ends the connection.
 * @param hold whether there is memory for this many bytes of the body; if not, the reading ends
 */
export function readBody(
  response: IncomingMessage,
  done: (bytes: Buffer | null, problem: string | null) => void,
  hold: (bytes: number) => boolean,
): void {
  let bytes: Buffer = Buffer.alloc(0);
  let length = 0;
  let finished = false;
  const finish = (problem: string | null): void => {
    if (finished) return;
    finished = true;
    if (problem === null) done(bytes.subarray(0, length), null);
    else done(null, problem);
  };
  const cutOff = (): void => finish(`the connection was closed ${length} bytes into the body`);
  response.on('data', (chunk: Buffer) => {
    if (finished) return;
    bytes = append(bytes, length, chunk);
    length = Math.min(length + chunk.length, MAX_BODY_BYTES);
    if (!hold(bytes.length)) return finish('the checker has no memory left for the body');
    if (length === MAX_BODY_BYTES) finish(null);
  });
  // Node emits no `end` for a body that breaks off.
  response.on('end', () => finish(null));
  response.on('error', cutOff);
  response.on('close', cutOff);
}

/**
 * Adds to what is there, in a buffer that doubles: as a list, a body in chunks of a byte each would take two hundred times
 * its size.
 */
function append(bytes: Buffer, length: number, chunk: Buffer): Buffer {
  if (length === 0) return chunk;
  const needed = Math.min(length + chunk.length, MAX_BODY_BYTES);
  let target = bytes;
  if (needed > bytes.length) {
    target = Buffer.allocUnsafe(Math.min(Math.max(needed, 2 * bytes.length), MAX_BODY_BYTES));
    bytes.copy(target, 0, 0, length);
  }
  chunk.copy(target, length);
  return target;
}
