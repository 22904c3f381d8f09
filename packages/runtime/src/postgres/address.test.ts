import { describe, expect, it, test } from '@jest/globals';
import { parsePostgresUrl } from './address.ts';

describe('parsePostgresUrl', () => {
  it('leaves the address of one host as it is', () => {
    for (const url of ['postgres://localhost/tocsin', 'postgresql://u:p%40@[::1]:5433/db?sslmode=disable'])
      expect(parsePostgresUrl(url)).toEqual({ hosts: [{ name: 'the server', url }], session: 'any' });
  });

  it('makes a separate address for each of several hosts', () => {
    const url =
      'postgres://u:p,w%40@db-1,[::1]:5433,db-3:5434/tocsin?sslmode=verify-full&target_session_attrs=read-write';
    const rest = '/tocsin?sslmode=verify-full&target_session_attrs=read-write';
    expect(parsePostgresUrl(url)).toEqual({
      hosts: [
        { name: 'db-1', url: `postgres://u:p,w%40@db-1${rest}` },
        { name: '[::1]:5433', url: `postgres://u:p,w%40@[::1]:5433${rest}` },
        { name: 'db-3:5434', url: `postgres://u:p,w%40@db-3:5434${rest}` },
      ],
      session: 'read-write',
    });
  });

  test.each([
    ['primary', 'primary'],
    ['read-write', 'read-write'],
    ['read%2Dwrite', 'read-write'],
  ])('takes target_session_attrs=%s', (text, session) => {
    expect(parsePostgresUrl(`postgres://h/db?target_session_attrs=${text}`).session).toBe(session);
  });

  test.each(['standby', '', 'READ-WRITE'])(
    'names the supported values for target_session_attrs=%s',
    (text) => {
      expect(() => parsePostgresUrl(`postgres://h/db?target_session_attrs=${text}`)).toThrow(
        'takes only target_session_attrs=any, read-write or primary',
      );
    },
  );

  test.each(['postgres://u:p@h1,/db', 'postgres://h1,,h2/db', 'postgres://h1,h2:99999/db'])(
    'refuses %s',
    (url) => {
      expect(() => parsePostgresUrl(url)).toThrow('must have host or host:port, comma-separated');
    },
  );
});
