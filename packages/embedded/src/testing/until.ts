/** Defined in runtime, whose own tests need it too. */
export { seenBefore, until } from '@tocsin/runtime/testing/until';
