/**
 * Whether a source is in a list of sources, of which one that ends in `*` stands for every source with this prefix.
 * @param sources null: every source, and none, is allowed
 * @param source null: it belongs to no source, which only `null` allows
 */
export function isSourceAllowed(sources: readonly string[] | null, source: string | null): boolean {
  if (sources === null) return true;
  if (source === null) return false;
  return sources.some((allowed) =>
    allowed.endsWith('*') ? source.startsWith(allowed.slice(0, -1)) : source === allowed,
  );
}
