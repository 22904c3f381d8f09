import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import type { Database } from './open.ts';

/** What queries that read or write secrets need. */
export interface DbContext {
  readonly db: Database;
  readonly secrets: SecretBox;
}
