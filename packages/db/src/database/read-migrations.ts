import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** A file of the migrations folder. */
export interface Migration {
  /** The name of its file, without `.sql`. */
  readonly tag: string;
  /** When it was generated, epoch milliseconds: migrations are applied in this order. */
  readonly createdAt: number;
  /** SHA-256 of the file, as drizzle's own migrator stores it. */
  readonly hash: string;
  readonly statements: readonly string[];
  /** Its statements build or drop indices concurrently: each runs by itself, outside of a transaction. */
  readonly isConcurrent: boolean;
}

const journalSchema = z.object({ entries: z.array(z.object({ tag: z.string(), when: z.number() })) });

/** The migrations of a folder that drizzle-kit wrote, in the order of its journal. */
export function readMigrations(folder: string): Migration[] {
  const journal = journalSchema.parse(JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8')));
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
