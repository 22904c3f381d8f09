/** Something that must not be. */
export class Finding extends Error {
  override readonly name = 'Finding';
}

/** @throws Finding */
export function demand(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Finding(what);
}
