import type { CookieJar } from 'tough-cookie';

/** RFC 6265 requires clients to store at least this much. */
const MAX_COOKIES = 50;
const MAX_COOKIE_CHARACTERS = 4_096;

export class CheckCookies {
  #jar: CookieJar | null = null;
  #count = 0;

  /** Stores the cookies of a response like a browser. @param setCookie headers in Latin-1, as Node reads them */
  async store(url: URL, setCookie: readonly string[]): Promise<void> {
    if (setCookie.length === 0) return;
    this.#jar ??= await createJar();
    for (const cookie of setCookie) {
      if (this.#count === MAX_COOKIES) return;
      if (cookie.length > MAX_COOKIE_CHARACTERS) continue;
      this.#count += 1;
      this.#jar.setCookieSync(cookie, url.href, { ignoreError: true });
    }
  }

  headerFor(url: URL): string | null {
    const header = this.#jar?.getCookieStringSync(url.href) ?? '';
    return header === '' ? null : header;
  }
}

/** Loads the library with the first cookie, because its list of public suffixes takes 18 MB. */
async function createJar(): Promise<CookieJar> {
  const { CookieJar } = await import('tough-cookie');
  return new CookieJar();
}
