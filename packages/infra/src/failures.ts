/** The messages of the conditions that do not hold. */
export function failuresOf(conditions: readonly (readonly [holds: boolean, message: string])[]): string[] {
  return conditions.flatMap(([holds, message]) => (holds ? [] : [message]));
}
