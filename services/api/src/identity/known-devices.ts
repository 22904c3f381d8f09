import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';

const MAX_AGE_SECONDS = 180 * 24 * 60 * 60;

interface KnownDeviceOptions {
  /** See `authSecret`. */
  readonly secret: string;
  /** The address people see. */
  readonly publicUrl: string;
}

/**
 * Browsers that have signed in as a user before, by a signed cookie. It signs nobody in: its holder is spared the delay that guesses of
 * others bring about (`SignInLimit`).
 */
export class KnownDevices {
  readonly #secret: string;
  readonly #isSecure: boolean;
  readonly #name: string;

  constructor({ secret, publicUrl }: KnownDeviceOptions) {
    this.#secret = secret;
    this.#isSecure = publicUrl.startsWith('https:');
    this.#name = `${this.#isSecure ? '__Secure-' : ''}tocsin.known_device`;
  }

  /** The id of the device that a request comes from; null: it has not signed in as this user. */
  find(req: Request, email: string): string | null {
    for (const cookie of req.get('cookie')?.split(';') ?? []) {
      const [name = '', value = ''] = cookie.split('=', 2);
      const [id = '', signature = ''] = value.split('.', 2);
      if (name.trim() === this.#name && this.#isSigned(id, signature, email)) return id;
    }
    return null;
  }

  /** The `Set-Cookie` value for a device that has just signed in. */
  cookieFor(email: string): string {
    const id = randomBytes(16).toString('base64url');
    const parts = [
      `${this.#name}=${id}.${this.#sign(id, email).toString('base64url')}`,
      `Max-Age=${MAX_AGE_SECONDS}`,
      'Path=/api/auth/sign-in/email',
      'HttpOnly',
      ...(this.#isSecure ? ['Secure'] : []),
      'SameSite=Strict',
    ];
    return parts.join('; ');
  }

  #isSigned(id: string, signature: string, email: string): boolean {
    const [given, expected] = [Buffer.from(signature.trim(), 'base64url'), this.#sign(id, email)];
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  #sign(id: string, email: string): Buffer {
    return createHmac('sha256', this.#secret).update(`known device v1\0${email}\0${id}`).digest();
  }
}
