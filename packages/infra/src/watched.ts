/**
 * An object whose reader is watched: `unread()` names, as paths, what stands in it that the reader never asked for. An object that was
 * not asked for anything is of a kind that may hold anything, and one whose keys were listed was read whole.
 */
export function watched<Value>(value: Value): { readonly value: Value; readonly unread: () => string[] } {
  const objects: { readonly path: string; readonly target: object; readonly asked: Set<string> }[] = [];
  const known = new Map<object, object>();

  function watch(part: unknown, path: string): unknown {
    if (typeof part !== 'object' || part === null) return part;
    const before = known.get(part);
    if (before !== undefined) return before;
    const asked = new Set<string>();
    if (!Array.isArray(part)) objects.push({ path, target: part, asked });
    const proxy = new Proxy(part, {
      get(target, key) {
        const found: unknown = Reflect.get(target, key);
        if (typeof key === 'symbol') return found;
        asked.add(key);
        return watch(found, `${path}/${key}`);
      },
      ownKeys(target) {
        const keys = Reflect.ownKeys(target);
        for (const key of keys) asked.add(String(key));
        return keys;
      },
    });
    known.set(part, proxy);
    return proxy;
  }

  return {
    value: watch(value, '') as Value,
    unread: () =>
      objects
        .filter(({ asked }) => asked.size > 0)
        .flatMap(({ path, target, asked }) =>
          Object.keys(target)
            .filter((key) => !asked.has(key))
            .map((key) => `${path}/${key}`),
        ),
  };
}
