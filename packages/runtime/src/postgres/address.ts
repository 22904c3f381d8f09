const SESSIONS = ['any', 'read-write', 'primary'] as const;
/** The supported values of libpq's `target_session_attrs`. */
export type TargetSession = (typeof SESSIONS)[number];

export interface PostgresHost {
  /** Name for messages, without credentials. */
  readonly name: string;
  readonly url: string;
}

export interface PostgresAddress {
  readonly hosts: readonly PostgresHost[];
  readonly session: TargetSession;
}

const HOST = /^(?:\[[0-9a-f:.]+\]|[^[\]:]+)(?::(\d{1,5}))?$/i;
const MAX_PORT = 65_535;

/** Parses `postgres://user:password@host1:5432,host2:5432/db?target_session_attrs=read-write`. @throws RangeError without credentials */
export function parsePostgresUrl(text: string): PostgresAddress {
  const [, before = '', hosts = '', rest = ''] =
    /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is.exec(text) ?? [];
  const query = new URLSearchParams(/\?([^#]*)/.exec(rest)?.[1]);
  const wanted = query.get('target_session_attrs') ?? 'any';
  const session = SESSIONS.find((known) => known === wanted);
  if (session === undefined)
    throw new RangeError('takes only target_session_attrs=any, read-write or primary');
  const names = hosts.split(',');
  if (names.length === 1) return { hosts: [{ name: 'the server', url: text }], session };
  if (!names.every(isHost))
    throw new RangeError('must have host or host:port, comma-separated, for each server');
  return { hosts: names.map((name) => ({ name, url: `${before}${name}${rest}` })), session };
}

function isHost(text: string): boolean {
  const match = HOST.exec(text);
  return match !== null && Number(match[1] ?? 0) <= MAX_PORT;
}
