import type { Operation } from '@tocsin/contracts/api/operation';

/** What a route takes and answers, as the fuzzer asks and judges it. */
export interface Route extends Pick<
  Operation,
  'kind' | 'needs' | 'needsWriteIf' | 'body' | 'bodyBytes' | 'query' | 'ok' | 'showsSecret'
> {
  /** `any`: somebody else's, held to no schema of ours. */
  readonly answer: Operation['answer'] | 'any';
  /** Statuses that the state, or rules beyond the schemas, may call for. */
  readonly refusals?: readonly number[];
  /** How often it is asked, compared with others; 10 where unset. */
  readonly weight?: number;
}
