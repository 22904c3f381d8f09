import type { Slot } from '../lab/slot.ts';

const ANSWER_WITHIN_MS = 5_000;

/** Whether its stores answer, and its own work makes progress. */
export async function isHealthy(slot: Slot): Promise<boolean> {
  if (!slot.isReady) return false;
  const answers = ['readyz', 'healthz'].map((path) => ask(slot, path));
  return Promise.all(answers).then(
    (all) => all.every(({ status }) => status === 200),
    () => false,
  );
}

/** Whether this api keeps the schedules: only there it says when it last compared them. */
export async function isLeading(slot: Slot): Promise<boolean> {
  if (!slot.isReady) return false;
  return ask(slot, 'metrics')
    .then((response) => response.text())
    .then(
      (metrics) => /^tocsin_schedule_audit_age_seconds/m.test(metrics),
      () => false,
    );
}

function ask({ port }: Slot, path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/${path}`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
}
