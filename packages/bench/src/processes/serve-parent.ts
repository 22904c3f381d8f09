/**
 * Answers each message of the parent process with what `answer` gives; ends with the parent.
 * @param answer takes what the parent's `HelperProcess` of the same program sends
 */
export function serveParent(answer: (message: never) => Promise<unknown>): void {
  process.on('disconnect', () => process.exit(0));
  // A Ctrl-C in the terminal reaches all of us: the parent stops us when it wants to.
  process.on('SIGINT', () => undefined);
  process.on('message', (message) => {
    void answer(message as never).then(
      (reply) => process.send?.({ reply }),
      (error: unknown) => process.send?.({ failure: error instanceof Error ? error.message : String(error) }),
    );
  });
}
