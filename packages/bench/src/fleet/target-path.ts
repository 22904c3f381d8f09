/** How a target of the fleet responds: after a delay, and up and down in turn if it has a phase (`flaps.ts`). */
export interface Behavior {
  readonly delayMs: number;
  /** Null: always up. */
  readonly flapPhaseMs: number | null;
}

/** The path of a target that never responds. */
export const HANGING_PATH = '/h/';

export function pathOf({ delayMs, flapPhaseMs }: Behavior): string {
  return flapPhaseMs === null ? `/d/${delayMs}` : `/d/${delayMs}/${flapPhaseMs}`;
}

/** The behavior that the head of a request asks for; null for any other path. */
export function behaviorOf(head: string): Behavior | null {
  const [, delay, phase] = /^GET \/d\/(\d+)(?:\/(\d+))? /.exec(head) ?? [];
  if (delay === undefined) return null;
  return { delayMs: Number(delay), flapPhaseMs: phase === undefined ? null : Number(phase) };
}
