const PARENT_POLL_MS = 1_000;

/**
 * Calls back once when the reader of this process's output, or its parent process, ends. A terminal that closes sends SIGHUP, which the
 * caller must handle.
 * @param options.parent false if the process may outlive its parent
 */
export function onAbandoned(callback: () => void, options: { readonly parent: boolean }): void {
  let isAbandoned = false;
  const abandon = (): void => {
    if (isAbandoned) return;
    isAbandoned = true;
    callback();
  };
  // Without a listener, a write to a closed pipe is an uncaught exception.
  process.stdout.on('error', abandon);
  process.stderr.on('error', abandon);
  // On Windows, orphans keep the ID of their parent.
  if (!options.parent || process.platform === 'win32') return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    abandon();
  }, PARENT_POLL_MS);
  timer.unref();
}
