/*
 * Loaded into a service before its own code (`node --expose-gc --import`). On SIGUSR2 it collects all garbage, so that the heap has only
 * what the service keeps. Between its own collections a heap varies by more than a slow leak adds in half an hour.
 */
process.on('SIGUSR2', () => {
  globalThis.gc?.();
});
