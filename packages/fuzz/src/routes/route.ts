import type { z } from 'zod';
import type { Kind } from '../values/references.ts';

/** What a route takes and answers. */
export interface Route {
  /** What `:id` names, and what the ids in its body do. */
  readonly kind?: Kind;
  /** What its body may be; unset: none is read. */
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
  /** The status of success. */
  readonly ok: number;
  /** What a success is; null: nothing. */
  readonly answer: z.ZodType | 'text' | 'stream' | 'any' | null;
  /** Refusals that the state, or rules beyond the schema of the body, may call for. */
  readonly refusals?: readonly number[];
  /** Who may: `nobody` needs neither key nor session. */
  readonly needs: 'key' | 'write key' | 'member' | 'owner' | 'nobody';
  /** How often it is asked, compared with others; 10 where unset. */
  readonly weight?: number;
  /** That an answer shows something that is a secret elsewhere. */
  readonly showsSecret?: true;
}
