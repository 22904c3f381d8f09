/** What one client may take of the server's time and memory; tests set closer ones. */
export interface HttpLimits {
  /** From the first byte of a request, or from the connection's begin, to the end of its head. */
  readonly headMs: number;
  /** To the end of its body. */
  readonly requestMs: number;
  /** How long a connection stays open for another request. */
  readonly keepAliveMs: number;
  /** From the beginning of an answer to its being taken; live streams have their own limits. */
  readonly answerMs: number;
  /** Of answers that are not yet taken, all clients together. */
  readonly unsentBytes: number;
  /** Header lines of a request. */
  readonly headerLines: number;
  /** Requests of one connection that wait for their answers. */
  readonly pipelined: number;
}

export const HTTP_LIMITS: HttpLimits = {
  headMs: 20_000,
  requestMs: 30_000,
  // Longer than a load balancer keeps its connections, so that it is the one to close them.
  keepAliveMs: 65_000,
  answerMs: 60_000,
  unsentBytes: 128 * 1024 * 1024,
  headerLines: 200,
  pipelined: 32,
};
