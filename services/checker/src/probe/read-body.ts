import type { IncomingMessage } from 'node:http';

/** How much of a body is read, and how much of a compressed body is decompressed. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Reading a MiB in chunks of a byte each would take most of a second of CPU time. */
const MAX_BODY_CHUNKS = 65_536;

const NOTHING: Buffer = Buffer.alloc(0);

/** The part of a body that was read. */
export interface ReadBody {
  /** As received, before any decoding; null where the bytes were discarded. */
  readonly bytes: Buffer | null;
  /** Whether this is the whole body; false where it continues beyond 1 MiB or 65,536 chunks. */
  readonly complete: boolean;
}

/** Called once: with what was read, or with a description of why the body broke off. */
type OnRead = (result: ReadBody | string) => void;

/** Whether there is memory for this many bytes. */
type Hold = (bytes: number) => boolean;

/**
 * Reads a body to its end, or until it exceeds 1 MiB or 65,536 chunks, and keeps the bytes. It does not wait for the rest: the caller
 * closes the connection.
 * @param hold whether there is memory for this many bytes of the body; if not, the reading ends
 */
export function collectBody(response: IncomingMessage, hold: Hold, done: OnRead): void {
  readBody(response, hold, done);
}

/**
 * Reads a body like `collectBody`, but discards the bytes. Most bodies arrive together with their head, and the parser has then seen
 * all of it by the next tick. Reading it from the stream would add a tenth to the cost of a check.
 */
export function discardBody(response: IncomingMessage, done: OnRead): void {
  process.nextTick(() => {
    if (response.complete) done({ bytes: null, complete: true });
    else readBody(response, null, done);
  });
}

/** @param hold null: the bytes are discarded */
function readBody(response: IncomingMessage, hold: Hold | null, done: OnRead): void {
  let bytes = NOTHING;
  let length = 0;
  let chunks = 0;
  let finished = false;
  const finish = (result: ReadBody | string): void => {
    if (finished) return;
    finished = true;
    done(result);
  };
  const end = (complete: boolean): void =>
    finish({ bytes: hold === null ? null : bytes.subarray(0, length), complete });
  const cutOff = (): void => finish(`the connection was closed ${length} bytes into the body`);
  response.on('data', (chunk: Buffer) => {
    if (finished) return;
    if (hold !== null) {
      bytes = append(bytes, length, chunk);
      if (!hold(bytes.length)) return finish('the checker has no memory left for the body');
    }
    const total = length + chunk.length;
    length = Math.min(total, MAX_BODY_BYTES);
    chunks += 1;
    if (total > MAX_BODY_BYTES || chunks > MAX_BODY_CHUNKS) end(false);
  });
  // Node does not emit `end` for a body that breaks off.
  response.on('end', () => end(true));
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
