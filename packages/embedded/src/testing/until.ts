/** Defined in runtime, whose own tests also need it. */
export { seenBefore, until } from '@tocsin/runtime/testing/until';
