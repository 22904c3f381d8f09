/** The fields by which a person recognizes a monitor or a channel. */
interface Recognizable {
  readonly name: string;
  /** A channel has none. */
  readonly method?: string;
  readonly url: string;
}

/** What a renamed entry still shares with its old one, strongest match first. Neither a method nor a URL contains spaces. */
const SIGNS: readonly ((entry: Recognizable) => string)[] = [
  ({ method = '', url, name }) => `${method} ${url} ${name}`,
  ({ method = '', url }) => `${method} ${url}`,
  ({ name }) => name,
];

/**
 * Finds the monitors or channels that probably only get another externalId: a set creates one, and no longer lists one with the same URL
 * and method, or with the same name. If several share a sign, it says nothing about any of them.
 * @param created the new ones
 * @param missing those that the set does not list
 * @returns the old entry for each new one
 */
export function findRenames<New extends Recognizable, Old extends Recognizable>(
  created: readonly New[],
  missing: readonly Old[],
): Map<New, Old> {
  const renames = new Map<New, Old>();
  const found = new Set<Old>();
  for (const signOf of SIGNS) {
    const candidates = onlyBySign(
      missing.filter((entry) => !found.has(entry)),
      signOf,
    );
    const unmatched = created.filter((entry) => !renames.has(entry));
    for (const [sign, entry] of onlyBySign(unmatched, signOf)) {
      const old = candidates.get(sign) ?? null;
      if (entry === null || old === null) continue;
      renames.set(entry, old);
      found.add(old);
    }
  }
  return renames;
}

/** The only entry with each sign; null if there are several. */
function onlyBySign<Entry>(
  entries: readonly Entry[],
  signOf: (entry: Entry) => string,
): Map<string, Entry | null> {
  const only = new Map<string, Entry | null>();
  for (const entry of entries) {
    const sign = signOf(entry);
    only.set(sign, only.has(sign) ? null : entry);
  }
  return only;
}
