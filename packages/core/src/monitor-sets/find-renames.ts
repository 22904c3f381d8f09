/** Fields by which a person recognizes a monitor or a channel. */
interface Recognizable {
  readonly name: string;
  /** Channels have none. */
  readonly method?: string;
  readonly url: string;
}

/** A renamed entry shares one of these with its old one, strongest match first. Spaces separate the parts, because methods and URLs contain none. */
const SIGNS: readonly ((entry: Recognizable) => string)[] = [
  ({ method = '', url, name }) => `${method} ${url} ${name}`,
  ({ method = '', url }) => `${method} ${url}`,
  ({ name }) => name,
];

/**
 * Finds entries of a set that probably only got another externalId, because an unlisted entry has the same URL and method, or the same name.
 * Values that several entries share are ignored.
 * @param missing unlisted entries
 * @returns the old entry of each renamed one
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

/** Indexes entries by sign. Null marks a sign that several entries share. */
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
