import type { Transform } from 'node:stream';
import { constants, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { quoteForeign } from './quote-foreign.ts';
import { MAX_BODY_BYTES } from './read-body.ts';

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
