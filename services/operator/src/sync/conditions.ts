import type { Problem } from '../desired/problem.ts';
import type { Condition } from '../kubernetes/objects.ts';

/** What is known about a resource after a sync. */
export interface Outcome {
  /** Why the resource is not accepted, or null. */
  readonly problem: Pick<Problem, 'reason' | 'message'> | null;
  /** Why Tocsin does not have what the resource declares, or null. */
  readonly failure: { readonly reason: string; readonly message: string } | null;
}

/** Returns the conditions of a resource. A condition keeps its transition time while its status stays. */
export function nextConditions(
  current: readonly Condition[],
  { problem, failure }: Outcome,
  observedGeneration: number,
  now: Date,
): Condition[] {
  const build = (
    type: Condition['type'],
    isTrue: boolean,
    { reason, message }: { readonly reason: string; readonly message: string },
  ): Condition => {
    const status = isTrue ? 'True' : 'False';
    const before = current.find((each) => each.type === type);
    // Times of Kubernetes have whole seconds.
    const lastTransitionTime =
      before?.status === status ? before.lastTransitionTime : now.toISOString().replace(/\.\d+Z$/, 'Z');
    return { type, status, reason, message, lastTransitionTime, observedGeneration };
  };
  return [
    build('Accepted', problem === null, problem ?? { reason: 'Valid', message: 'The resource is valid.' }),
    problem === null
      ? build(
          'Synced',
          failure === null,
          failure ?? { reason: 'Synced', message: 'Tocsin has what the resource declares.' },
        )
      : build('Synced', false, {
          reason: 'NotAccepted',
          message: 'Tocsin keeps what it has until the resource is accepted.',
        }),
  ];
}
