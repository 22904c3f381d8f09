/** Lifetimes to choose from, in days; null: never expires. */
export const LIFETIMES = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: 'never', label: 'Never' },
] as const;
export type Lifetime = (typeof LIFETIMES)[number]['value'];

const DAY_MS = 24 * 60 * 60 * 1_000;

/** When a key of this lifetime ends, ISO 8601; undefined: never. */
export function endOf(lifetime: Lifetime, nowMs: number): string | undefined {
  return lifetime === 'never' ? undefined : new Date(nowMs + Number(lifetime) * DAY_MS).toISOString();
}
