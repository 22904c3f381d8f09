import { isAlias, isCollection, isPair, type Alias, type Document } from 'yaml';

interface Resolved {
  readonly node: unknown;
  /** Number of values including itself, in which aliases count like their values. Null until it is known. */
  size: number | null;
}

/**
 * Replaces aliases with their values. The parser would read the whole document again for each alias.
 * @param onError called for an alias without a value, or within its own value
 * @returns the number of values, in which aliases count like their values
 */
export function resolveAliases(
  document: Document.Parsed,
  onError: (alias: Alias, message: string) => void,
): number {
  /** The last value so far by anchor. */
  const anchors = new Map<string, Resolved>();
  const sizeOf = (node: unknown, replace: (by: unknown) => void): number => {
    if (isAlias(node)) {
      const { node: target, size = null } = anchors.get(node.source) ?? {};
      if (size !== null) replace(target);
      else if (target === undefined) onError(node, `there is no anchor &${node.source} before this alias`);
      else onError(node, `the alias *${node.source} is inside the value that it refers to`);
      return size ?? 1;
    }
    const { anchor } = (node ?? {}) as { readonly anchor?: string };
    const resolved: Resolved = { node, size: null };
    if (anchor !== undefined) anchors.set(anchor, resolved);
    let size = 1;
    if (isPair(node)) {
      // A plain key does not count.
      size = sizeOf(node.key, (by) => (node.key = by)) - 1;
      size += sizeOf(node.value, (by) => (node.value = by));
    } else if (isCollection(node)) {
      const items: unknown[] = node.items;
      for (const [index, item] of items.entries()) size += sizeOf(item, (by) => (items[index] = by));
    }
    resolved.size = size;
    return size;
  };
  return sizeOf(document.contents, () => undefined);
}
