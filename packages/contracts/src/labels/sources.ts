/**
 * True if a list of sources allows a source. A trailing `*` matches a prefix.
 * @param sources null allows everything
 * @param source null for a resource without a source, which a list never allows
 */
export function isSourceAllowed(sources: readonly string[] | null, source: string | null): boolean {
  if (sources === null) return true;
  if (source === null) return false;
  return sources.some((allowed) =>
    allowed.endsWith('*') ? source.startsWith(allowed.slice(0, -1)) : source === allowed,
  );
}
