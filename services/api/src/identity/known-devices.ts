import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database } from '@tocsin/db/database/open';
import { findPasswordHash } from '@tocsin/db/users/users';
import type { Request } from 'express';
import type { AuthSettings } from './auth-options.ts';

const MAX_AGE_SECONDS = 180 * 24 * 60 * 60;

/**
 * Recognizes browsers that have signed in as a user, by a signed cookie that is valid until the password changes. It exempts them from the
 * delays that other clients' guesses cause (`SignInLimit`).
 */
export class KnownDevices {
  readonly #db: Database;
  readonly #secret: string;
  readonly #isSecure: boolean;
  readonly #name: string;

  constructor({ db, secret, publicUrl }: Pick<AuthSettings, 'db' | 'secret' | 'publicUrl'>) {
    this.#db = db;
    this.#secret = secret;
    this.#isSecure = publicUrl.startsWith('https:');
    this.#name = `${this.#isSecure ? '__Secure-' : ''}tocsin.known_device`;
  }

  /** The id of the device, or null if it has not signed in as this user since the last password change. */
  async find(req: Request, email: string): Promise<string | null> {
    for (const cookie of req.get('cookie')?.split(';') ?? []) {
      const [name = '', value = ''] = cookie.split('=', 2);
      const [id = '', password = '', signature = ''] = value.trim().split('.', 3);
      // Checks the signature first, so that guesses cause no queries.
      if (name.trim() !== this.#name || !isSame(signature, this.#sign(email, id, password))) continue;
      if (isSame(password, await this.#passwordMark(email))) return id;
    }
    return null;
  }

  /** `Set-Cookie` value for a device that signs in with the current password. @param known its id, or null for a new device */
  async cookieFor(email: string, known: string | null): Promise<string> {
    const id = known ?? randomBytes(16).toString('base64url');
    const password = await this.#passwordMark(email);
    const parts = [
      `${this.#name}=${id}.${password}.${this.#sign(email, id, password)}`,
      `Max-Age=${MAX_AGE_SECONDS}`,
      'Path=/api/auth/sign-in/email',
      'HttpOnly',
      ...(this.#isSecure ? ['Secure'] : []),
      'SameSite=Strict',
    ];
    return parts.join('; ');
  }

  /** Changes with the password and reveals nothing about it. */
  async #passwordMark(email: string): Promise<string> {
    const hash = await findPasswordHash(this.#db, email);
    return this.#hmac(`known device password\0${hash ?? ''}`).slice(0, 22);
  }

  #sign(email: string, id: string, password: string): string {
    return this.#hmac(`known device v2\0${email}\0${id}\0${password}`);
  }

  #hmac(text: string): string {
    return createHmac('sha256', this.#secret).update(text).digest('base64url');
  }
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
