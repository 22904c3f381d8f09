import type { LookupOwner } from '../dns/fair-lookup.ts';

/** Longer than any test runs, so that no lookup times out on a busy machine. */
const NO_TIMEOUT_MS = 600_000;

/** Makes a lookup owner with a separate account for each name. */
export function testOwner(name: string): LookupOwner {
  const deadline = performance.now() + NO_TIMEOUT_MS;
  return { account: name, resource: name, isRedirected: false, deadline };
}
