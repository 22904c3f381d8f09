/** The fields by which a person recognizes a monitor. */
interface Recognizable {
  readonly name: string;
  readonly method: string;
  readonly url: string;
}

/** What two externalIds of one monitor probably share, the strongest sign first. Neither a method nor a URL contains spaces. */
const SIGNS: readonly ((monitor: Recognizable) => string)[] = [
  ({ method, url, name }) => `${method} ${url} ${name}`,
  ({ method, url }) => `${method} ${url}`,
  ({ name }) => name,
];

/**
 * Finds the monitors that probably only get another externalId: a set creates one, and no longer lists one with the same URL and
 * method, or with the same name. If several share a sign, it says nothing about any of them.
 * @param created the new monitors
 * @param missing the monitors that the set does not list
 * @returns the missing monitor by the new one
 */
export function findRenames<New extends Recognizable, Old extends Recognizable>(
  created: readonly New[],
  missing: readonly Old[],
): Map<New, Old> {
  const renames = new Map<New, Old>();
  const found = new Set<Old>();
  for (const signOf of SIGNS) {
    const candidates = onlyBySign(
      missing.filter((monitor) => !found.has(monitor)),
      signOf,
    );
    const unmatched = created.filter((monitor) => !renames.has(monitor));
    for (const [sign, monitor] of onlyBySign(unmatched, signOf)) {
      const old = candidates.get(sign) ?? null;
      if (monitor === null || old === null) continue;
      renames.set(monitor, old);
      found.add(old);
    }
  }
  return renames;
}

/** The only monitor with each sign; null if there are several. */
function onlyBySign<Monitor>(
  monitors: readonly Monitor[],
  signOf: (monitor: Monitor) => string,
): Map<string, Monitor | null> {
  const only = new Map<string, Monitor | null>();
  for (const monitor of monitors) {
    const sign = signOf(monitor);
    only.set(sign, only.has(sign) ? null : monitor);
  }
  return only;
}
