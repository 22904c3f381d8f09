import { isAlias, isCollection, isPair, type Alias, type Document } from 'yaml';

/** A value of a file. */
interface Resolved {
  readonly node: unknown;
  /** The number of values that it contains, and itself. Each alias counts like its value. Null until all of them are resolved. */
  size: number | null;
}

/**
 * Replaces the aliases of a document by the values that they refer to. The parser would read the whole document again for each alias.
 * @param onError called for an alias that refers to no value, or to one that contains it
 * @returns the number of values, where each alias counts like its value
 */
export function resolveAliases(
  document: Document.Parsed,
  onError: (alias: Alias, message: string) => void,
): number {
  /** By the name of the anchor: the last one so far. */
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
      // A key that is a text does not count.
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
