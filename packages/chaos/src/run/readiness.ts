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

/** Whether its stores answer; null: it does not say. */
export async function readReadiness(slot: Slot): Promise<boolean | null> {
  return ask(slot, 'readyz').then(
    ({ status }) => status === 200,
    () => null,
  );
}

/** Whether this api leads, by its own account. */
export async function isLeading(slot: Slot): Promise<boolean> {
  if (!slot.isReady) return false;
  return /^tocsin_leader 1$/m.test(await readMetrics(slot));
}

/** What it measures, as Prometheus reads it; empty where it does not answer. */
export async function readMetrics(slot: Slot): Promise<string> {
  return ask(slot, 'metrics')
    .then((response) => response.text())
    .catch(() => '');
}

function ask({ port }: Slot, path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/${path}`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
}
