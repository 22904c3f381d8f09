import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

const LARGEST_BYTES = 50_000_000;

/** A file that lines are appended to; a full one becomes `<name>.1`. Written at once, so a crash loses nothing. */
export class LogFile {
  readonly path: string;
  #descriptor: number;
  #bytes: number;

  constructor(path: string) {
    this.path = path;
    this.#descriptor = openSync(path, 'a', 0o600);
    this.#bytes = fstatSync(this.#descriptor).size;
  }

  write(line: string): void {
    if (this.#bytes > LARGEST_BYTES) this.#rotate();
    this.#bytes += writeSync(this.#descriptor, `${line}\n`);
  }

  #rotate(): void {
    closeSync(this.#descriptor);
    renameSync(this.path, `${this.path}.1`);
    this.#descriptor = openSync(this.path, 'a', 0o600);
    this.#bytes = 0;
  }
}
