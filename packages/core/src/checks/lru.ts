/** Returns the result of `create` for a key, and keeps the most recently used ones. */
export function cached<Value>(max: number, create: (key: string) => Value): (key: string) => Value {
  const values = new Map<string, Value>();
  return (key) => {
    const value = values.get(key) ?? create(key);
    // A map iterates in order of insertion.
    values.delete(key);
    values.set(key, value);
    const oldest = values.size > max ? values.keys().next().value : undefined;
    if (oldest !== undefined) values.delete(oldest);
    return value;
  };
}
