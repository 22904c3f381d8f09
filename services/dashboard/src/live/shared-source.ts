/** The leader answers within this time. Followers claim at different moments, so that usually only one of them opens a stream. */
const CLAIM_AFTER_MS = 200;

/** What tabs of a browser tell each other. */
type Message =
  | { readonly kind: 'ask' | 'leave' }
  | { readonly kind: 'lead'; readonly rank: number; readonly isOpen: boolean }
  | { readonly kind: 'event'; readonly type: string; readonly data?: unknown; readonly lastEventId?: string };

/**
 * An event stream that the tabs of a browser share, because over HTTP/1.1 all of them together have six connections to a server. One tab, the
 * leader, is connected and passes everything on. When it leaves, another tab continues at the position that it has reached.
 */
export class SharedSource extends EventTarget {
  readonly #types: readonly string[];
  readonly #rank = Math.random();
  #channel: BroadcastChannel | null = null;
  #path: (() => string) | null = null;
  #source: EventSource | null = null;
  #claim: ReturnType<typeof setTimeout> | undefined;

  /** @param types of the messages to pass on */
  constructor(types: readonly string[]) {
    super();
    this.#types = ['open', 'error', ...types];
  }

  get isLeader(): boolean {
    return this.#source !== null;
  }

  /** True if the browser does not reconnect on its own. */
  get hasFailed(): boolean {
    return this.#source?.readyState === EventSource.CLOSED;
  }

  /** Receives what the leader receives, without becoming the leader. @param name of the stream */
  listen(name: string): void {
    if (this.#channel !== null || globalThis.BroadcastChannel === undefined) return;
    this.#channel = new BroadcastChannel(name);
    this.#channel.addEventListener('message', ({ data }) => this.#receive(data as Message));
  }

  /** Follows the leader, or becomes it if there is none. @param path returns the path that resumes at the latest position */
  connect(name: string, path: () => string): void {
    this.listen(name);
    this.#follow();
    this.#path = path;
    if (this.#channel === null) return this.#lead();
    this.#claimAfter(CLAIM_AFTER_MS * (1 + this.#rank));
    this.#tell({ kind: 'ask' });
  }

  close(): void {
    clearTimeout(this.#claim);
    this.#path = null;
    if (this.isLeader) this.#tell({ kind: 'leave' });
    this.#follow();
    this.#channel?.close();
    this.#channel = null;
  }

  #claimAfter(delayMs: number): void {
    clearTimeout(this.#claim);
    this.#claim = setTimeout(() => this.#lead(), delayMs);
  }

  #lead(): void {
    if (this.#path === null) return;
    const source = new EventSource(this.#path());
    this.#source = source;
    this.#announce();
    for (const type of this.#types)
      source.addEventListener(type, (event) => {
        const { data, lastEventId } = event as MessageEvent<unknown>;
        this.#tell({ kind: 'event', type, data, lastEventId });
        this.#dispatch(type, { data, lastEventId });
      });
  }

  #announce(): void {
    const isOpen = this.#source?.readyState === EventSource.OPEN;
    this.#tell({ kind: 'lead', rank: this.#rank, isOpen });
  }

  #tell(message: Message): void {
    this.#channel?.postMessage(message);
  }

  #follow(): void {
    this.#source?.close();
    this.#source = null;
  }

  #receive(message: Message): void {
    if (message.kind === 'ask' && this.isLeader) this.#announce();
    if (message.kind === 'leave') this.#claimAfter(CLAIM_AFTER_MS * this.#rank);
    if (message.kind === 'event' && !this.isLeader) this.#dispatch(message.type, message);
    if (message.kind !== 'lead') return;
    clearTimeout(this.#claim);
    // Two tabs have claimed at the same time.
    if (this.isLeader && message.rank > this.#rank) return this.#announce();
    this.#follow();
    if (message.isOpen && this.#path !== null) this.#dispatch('open', {});
  }

  #dispatch(type: string, { data, lastEventId }: { data?: unknown; lastEventId?: string }): void {
    this.dispatchEvent(Object.assign(new Event(type), { data, lastEventId }));
  }
}
