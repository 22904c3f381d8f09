import type { Check, RolloutPhase, RolloutRecord } from './record.ts';
import { wrongFinalStatuses } from './statuses.ts';

export const ROLLOUT_CHECKS: readonly Check<RolloutRecord>[] = [
  [
    'every phase has something to lose',
    inPhases(({ planned, failed }) => [
      ...(planned === 0 ? ['no checks were planned'] : []),
      ...(failed === 0 ? ['no target failed'] : []),
    ]),
  ],
  [
    'every planned check is recorded once',
    inPhases(({ planned, checked, events, maxMissedShare }) => [
      ...(planned - checked <= maxMissedShare * planned
        ? []
        : [`${planned - checked} planned checks were missed`]),
      ...(events === checked ? [] : [`${events - checked} events repeat a planned check`]),
    ]),
  ],
  [
    'every failure is a response of the target',
    inPhases(({ unanswered }) => (unanswered === 0 ? [] : [`${unanswered} checks failed without one`])),
  ],
  ['each monitor shows the state of its target', wrongFinalStatuses],
];

function inPhases(find: (phase: RolloutPhase) => string[]): (record: RolloutRecord) => string[] {
  return ({ phases }) => phases.flatMap((phase) => find(phase).map((problem) => `${phase.name}: ${problem}`));
}
