import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of the migrations folder. */
export interface Migration {
  /** The name of its file, without `.sql`. */
  readonly tag: string;
  /** When it was generated, epoch milliseconds: migrations are applied in this order. */
  readonly createdAt: number;
  /** SHA-256 of the file, as drizzle's own migrator notes it. */
  readonly hash: string;
  readonly statements: readonly string[];
  /** Its statements build or drop indices concurrently: each runs by itself, outside of a transaction. */
  readonly isConcurrent: boolean;
}

interface Journal {
  readonly entries: readonly { readonly tag: string; readonly when: number }[];
}

/** The migrations of a folder that drizzle-kit wrote, in the order of its journal. */
export function readMigrations(folder: string): Migration[] {
  const journal = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8')) as Journal;
  return journal.entries.map(({ tag, when }) => {
    const text = readFileSync(join(folder, `${tag}.sql`), 'utf8');
    const statements = text.split('--> statement-breakpoint').map((statement) => statement.trim());
    return {
      tag,
      createdAt: when,
      hash: createHash('sha256').update(text).digest('hex'),
      statements,
      isConcurrent: statements.some((statement) => /\bCONCURRENTLY\b/.test(statement)),
    };
  });
}
