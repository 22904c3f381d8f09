import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { constants, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { quoteForeign } from './redact.ts';

/** How much of a body is read, and how much of a compressed body is decompressed. */
const MAX_BODY_BYTES = 1024 * 1024;
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

/** The text of a body, or in words why it cannot be read. */
export type DecodedBody = { readonly text: string } | { readonly problem: string };

const CHARSET = /;\s*charset\s*=\s*"?([^\s";]{1,40})/i;
/** A body that the check itself cut at 1 MiB yields what it holds; any other has to reach its end. */
const CUT = { finishFlush: constants.Z_SYNC_FLUSH };

/**
 * Turns body bytes into text: content codings gzip and deflate undone up to 1 MiB of output, then the charset that
 * Content-Type states, UTF-8 without one. Bytes that are no valid text become U+FFFD. Brotli is not undone: what decodes it in Node
 * has let strangers write into the memory of a process (CVE-2026-111497), and checks do not ask for it.
 * @param complete whether `bytes` are the whole body; of the first part of one, what can be decoded is
 * @param contentEncoding the Content-Encoding header, `identity` without one
 */
export async function decodeBody(
  bytes: Buffer,
  complete: boolean,
  contentEncoding: string,
  contentType: string,
): Promise<DecodedBody> {
  const coding = contentEncoding.trim().toLowerCase();
  if (bytes.length === 0 || coding === '' || coding === 'identity') {
    return { text: textOf(bytes, contentType) };
  }
  const decoder = decoderOf(coding, bytes, complete);
  if (decoder === null)
    return { problem: `the body has content coding ${quoteForeign(coding)}, which checks cannot read` };
  const plain = await unfold(decoder, bytes);
  return plain === null
    ? { problem: `the ${coding} body is not valid or not complete` }
    : { text: textOf(plain, contentType) };
}

function decoderOf(coding: string, bytes: Buffer, complete: boolean): Transform | null {
  const options = complete ? {} : CUT;
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(options);
    case 'deflate':
      // The standard wants the zlib format, some servers send bare deflate data; the first byte tells.
      return ((bytes[0] ?? 0) & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options);
    default:
      return null;
  }
}

/** Output beyond 1 MiB is never produced, whatever the input claims. Null for invalid data. */
async function unfold(decoder: Transform, bytes: Buffer): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  decoder.end(bytes);
  try {
    // Leaving the loop destroys the decoder, so a bomb goes no further.
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= MAX_BODY_BYTES) break;
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks, Math.min(length, MAX_BODY_BYTES));
}

function textOf(bytes: Buffer, contentType: string): string {
  const label = CHARSET.exec(contentType)?.[1];
  if (label === undefined || /^utf-?8$/i.test(label)) return bytes.toString('utf8');
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    // An unknown charset: most text is ASCII at heart.
    return bytes.toString('utf8');
  }
}
