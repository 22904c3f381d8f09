import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

export interface Migration {
  readonly tag: string;
  /** When the migration was generated, epoch milliseconds. Migrations are applied in this order. */
  readonly createdAt: number;
  /** SHA-256 of the file, as drizzle's own migrator stores it. */
  readonly hash: string;
  readonly statements: readonly string[];
  /** True if it builds or drops indexes concurrently. Each statement then runs outside a transaction. */
  readonly isConcurrent: boolean;
}

const journalSchema = z.object({ entries: z.array(z.object({ tag: z.string(), when: z.number() })) });

/** Reads the migrations of a folder that drizzle-kit wrote, in the order of its journal. */
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
