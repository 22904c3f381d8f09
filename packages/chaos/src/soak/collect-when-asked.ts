/*
 * Loaded into a service before its own code (`node --expose-gc --import`): on SIGUSR2 it collects all its garbage, so that what its
 * heap uses right after is what it keeps. Between collections of its own a heap goes up and down by more than a slow leak adds in half
 * an hour.
 */
process.on('SIGUSR2', () => {
  globalThis.gc?.();
});
