export const AT = '2026-03-01T12:00:00.000Z';

/** An EventSource without a network. */
export class FakeSource extends EventTarget {
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  static opened: FakeSource[] = [];
  readyState = 0;
  readonly url: string;

  constructor(url: string) {
    super();
    this.url = url;
    FakeSource.opened.push(this);
  }

  open(): void {
    this.readyState = FakeSource.OPEN;
    this.send('open');
  }

  close(): void {
    this.readyState = FakeSource.CLOSED;
  }

  send(type: string, data: object = {}, lastEventId = AT): void {
    this.dispatchEvent(Object.assign(new Event(type), { data: JSON.stringify(data), lastEventId }));
  }
}
