import dns from 'node:dns';
import type { Family } from './system-config.ts';

/** How long c-ares waits for the answer to a repeated question. It does not take longer times. */
const PATIENT_MS = 5_000;
/** A resolver with more answers than this adapts its time-out to them. */
const MAX_PATIENT_ANSWERS = 2;
/** A resolver for repeated questions is replaced after this time: the name servers of the system may have changed. */
const MAX_PATIENT_AGE_MS = 5_000;

interface PatientResolver {
  readonly resolver: dns.Resolver;
  readonly createdAt: number;
  answers: number;
}

type Answered = (error: NodeJS.ErrnoException | null, addresses: string[]) => void;

/**
 * One name server. Node has c-ares return a failure of a server as the answer, so each server has resolvers of its own. c-ares also
 * shortens its time-outs to a multiple of what a server took so far, and drops answers that come later. So a question is repeated on a
 * resolver that has not seen enough answers yet to do so.
 */
class NameServer {
  readonly address: string | null;
  readonly #answerWithinMs: number;
  readonly #now: () => number;
  #quick: dns.Resolver;
  #patient: PatientResolver | null = null;
  /** When the first question since the server's last answer was sent; null: none has been sent since. */
  #silentSince: number | null = null;

  constructor(address: string | null, answerWithinMs: number, now: () => number) {
    this.address = address;
    this.#answerWithinMs = answerWithinMs;
    this.#now = now;
    this.#quick = this.#resolver(answerWithinMs);
  }

  /** Whether it has answered nothing for as long as an answer may take. */
  get isSilent(): boolean {
    return this.#silentSince !== null && this.#now() - this.#silentSince > this.#answerWithinMs;
  }

  /** Replaces the socket, and with it the port that answers must be sent to. */
  renew(): void {
    this.#quick = this.#resolver(this.#answerWithinMs);
  }

  ask(name: string, family: Family, patiently: boolean, answered: Answered): void {
    this.#silentSince ??= this.#now();
    const patient = patiently ? this.#patientResolver() : null;
    const resolver = patient?.resolver ?? this.#quick;
    const done: Answered = (error, addresses) => {
      if (error === null || isAnswer(error)) {
        this.#silentSince = null;
        if (patient !== null) patient.answers += 1;
      }
      answered(error, addresses);
    };
    if (family === 4) resolver.resolve4(name, done);
    else resolver.resolve6(name, done);
  }

  #patientResolver(): PatientResolver {
    const now = this.#now();
    const old = this.#patient;
    if (old !== null && old.answers < MAX_PATIENT_ANSWERS && now - old.createdAt < MAX_PATIENT_AGE_MS)
      return old;
    return (this.#patient = { resolver: this.#resolver(PATIENT_MS), createdAt: now, answers: 0 });
  }

  #resolver(timeout: number): dns.Resolver {
    const resolver = new dns.Resolver({ timeout, tries: 1 });
    if (this.address !== null) resolver.setServers([this.address]);
    return resolver;
  }
}

export class NameServers {
  readonly #servers: readonly NameServer[];
  readonly #answerWithinMs: number;
  readonly #now: () => number;

  constructor(
    addresses: readonly (string | null)[],
    answerWithinMs: number,
    now: () => number,
    known: readonly NameServer[] = [],
  ) {
    this.#answerWithinMs = answerWithinMs;
    this.#now = now;
    this.#servers = addresses.map(
      (address) =>
        known.find((one) => one.address === address) ?? new NameServer(address, answerWithinMs, now),
    );
  }

  get count(): number {
    return this.#servers.length;
  }

  get answerWithinMs(): number {
    return this.#answerWithinMs;
  }

  /** In the order in which to ask: as configured, but those that are silent last. */
  inOrder(): readonly NameServer[] {
    if (this.#servers.length === 1 || !this.#servers.some((one) => one.isSilent)) return this.#servers;
    return this.#servers.toSorted((one, other) => Number(one.isSilent) - Number(other.isSilent));
  }

  /** The same for what is configured now. Silent servers are asked for this name, to see whether they answer again. */
  renewed(addresses: readonly (string | null)[], name: string): NameServers {
    const renewed = new NameServers(addresses, this.#answerWithinMs, this.#now, this.#servers);
    for (const server of renewed.#servers) {
      server.renew();
      if (renewed.count > 1 && server.isSilent) server.ask(name, 4, false, () => undefined);
    }
    return renewed;
  }
}

/** Whether a server has sent this error. */
function isAnswer({ code }: NodeJS.ErrnoException): boolean {
  return code !== dns.TIMEOUT && code !== dns.CONNREFUSED && code !== dns.CANCELLED;
}
