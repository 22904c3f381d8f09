/** Returns the messages of the conditions that are not met. */
export function messagesOfFailed(
  conditions: readonly (readonly [isMet: boolean, message: string])[],
): string[] {
  return conditions.flatMap(([isMet, message]) => (isMet ? [] : [message]));
}
