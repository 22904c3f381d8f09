import type { Monitor } from '@tocsin/contracts/monitors/monitor';

/** Why `tocsin apply` does not take a monitor over with its file; null where it is managed so already. */
export function ownershipNote({ externalId, source }: Pick<Monitor, 'externalId' | 'source'>): string | null {
  if (externalId === null)
    return 'This monitor has no external id, by which files know their monitors: applying this makes a second one.';
  if (source === null) return 'This monitor belongs to no source: applying this is refused.';
  return null;
}
