const PARENT_POLL_MS = 1_000;

/**
 * Calls back once when whoever started this process is gone: nobody reads its output any more, or its parent process ended.
 * A terminal that hangs up sends SIGHUP, which is the caller's to handle.
 * @param options.parent false where the process may outlive its parent
 */
export function onAbandoned(callback: () => void, options: { readonly parent: boolean }): void {
  let isAbandoned = false;
  const abandon = (): void => {
    if (isAbandoned) return;
    isAbandoned = true;
    callback();
  };
  // Without a listener, a write to a closed pipe is an uncaught exception; reporting that on another closed pipe never ends.
  process.stdout.on('error', abandon);
  process.stderr.on('error', abandon);
  // Windows does not give the children of an ended process another parent.
  if (!options.parent || process.platform === 'win32') return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    abandon();
  }, PARENT_POLL_MS);
  timer.unref();
}
