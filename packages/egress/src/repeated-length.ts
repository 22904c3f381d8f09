import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const COLON = 0x3a;
const DIGIT_1 = 0x31;
/** This bit turns an ASCII letter into lower case and leaves a hyphen unchanged. */
const LOWER_CASE = 0x20;
const STATUS_COLUMN = 9;
const NAME = Buffer.from('content-length');
/** The parser sees this name in place of a repeated Content-Length. */
const RENAMED = 'content-lengt~';
const TILDE = 0x7e;

/**
 * Renames each Content-Length of a response after the first. RFC 9110 lets clients accept a repeated length, and all do except Node's parser.
 * `differentLengths` then compares the values.
 * @param socket of a request, before its first byte arrives. Its chunks are changed in place
 */
export function renameRepeatedLengths(socket: Socket): void {
  const scanner = new HeadScanner();
  // This listener must run before the parser's own.
  socket.prependListener('data', (chunk: Buffer) => scanner.scan(chunk));
}

export function differentLengths(headers: IncomingHttpHeaders): boolean {
  const repeated = headers[RENAMED];
  if (typeof repeated !== 'string') return false;
  return repeated.split(', ').some((length) => length !== headers['content-length']);
}

/** Follows the lines of a head byte by byte, even if chunks split them. */
class HeadScanner {
  #done = false;
  #inStatusLine = true;
  #interim = false;
  #lengths = 0;
  /** Bytes of the current line, without CR. */
  #column = 0;
  #matched = 0;

  scan(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && !this.#done; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === LF) this.#endLine();
      else if (byte !== CR) {
        if (this.#inStatusLine) {
          if (this.#column === STATUS_COLUMN) this.#interim = byte === DIGIT_1;
        } else if (this.#column === this.#matched) this.#matchName(chunk, at, byte);
        this.#column += 1;
      }
    }
  }

  #matchName(chunk: Buffer, at: number, byte: number): void {
    if (this.#matched === NAME.length) {
      if (endsName(byte)) this.#lengths += 1;
      return;
    }
    if ((byte | LOWER_CASE) !== NAME[this.#matched]) return;
    this.#matched += 1;
    if (this.#matched < NAME.length || this.#lengths === 0) return;
    // At the end of a chunk this may be a longer name, which no check reads.
    const next = chunk[at + 1];
    if (next === undefined || endsName(next)) chunk[at] = TILDE;
  }

  #endLine(): void {
    // A blank line before the status line ends nothing. Another head follows an interim response.
    if (this.#column === 0 && !this.#inStatusLine) {
      this.#done = !this.#interim;
      this.#inStatusLine = true;
      this.#lengths = 0;
    } else if (this.#column > 0) this.#inStatusLine = false;
    this.#column = 0;
    this.#matched = 0;
  }
}

function endsName(byte: number): boolean {
  return byte === COLON || byte === SPACE || byte === TAB;
}
