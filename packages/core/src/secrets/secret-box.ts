import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

const VERSION = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

interface SecretKey {
  readonly id: string;
  readonly bytes: Buffer;
}

/** Encrypts secrets at rest with AES-256-GCM as `v1.<key id>.<base64 of nonce, tag, ciphertext>`. The first key encrypts, all keys decrypt. */
export class SecretBox {
  readonly #keys: ReadonlyMap<string, SecretKey>;
  readonly #current: SecretKey;

  /** @param keys at least one, 32 bytes each */
  constructor(keys: readonly Buffer[]) {
    const identified = keys.map((bytes) => ({ id: idOf(bytes), bytes }));
    const [current] = identified;
    if (current === undefined || identified.some((key) => key.bytes.length !== 32)) {
      throw new RangeError('SecretBox needs at least one key of 32 bytes');
    }
    this.#current = current;
    this.#keys = new Map(identified.map((key) => [key.id, key]));
  }

  /** Id of the key that encrypts. Its 8 hexadecimal digits reveal nothing about the key. */
  get currentKeyId(): string {
    return this.#current.id;
  }

  /** Ids of all keys, the current one first. */
  get keyIds(): readonly string[] {
    return [...this.#keys.keys()];
  }

  /** Encrypts a secret again if an older key encrypted it. @throws Error as `decrypt` does */
  reseal(text: string): string {
    return text.startsWith(this.currentPrefix) ? text : this.encrypt(this.decrypt(text));
  }

  get currentPrefix(): string {
    return `${VERSION}.${this.#current.id}.`;
  }

  encrypt(plain: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#current.bytes, nonce);
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return `${this.currentPrefix}${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')}`;
  }

  /** Returns a fingerprint that identifies a text but reveals nothing about it without the key. */
  fingerprint(text: string): string {
    return fingerprintBy(this.#current, text);
  }

  /** Verifies a fingerprint with any of the keys. */
  isFingerprint(fingerprint: string, text: string): boolean {
    const key = this.#keys.get(fingerprint.split('.', 1)[0] ?? '');
    if (key === undefined) return false;
    const [given, own] = [Buffer.from(fingerprint), Buffer.from(fingerprintBy(key, text))];
    return given.length === own.length && timingSafeEqual(given, own);
  }

  /** @throws Error if the text was changed, or no key decrypts it */
  decrypt(text: string): string {
    const [version, keyId = '', payload = ''] = text.split('.');
    const key = this.#keys.get(keyId);
    if (version !== VERSION || key === undefined) {
      throw new Error(`no key in SECRETS_KEY decrypts this secret: it needs key ${keyId.slice(0, 8)}`);
    }
    const bytes = Buffer.from(payload, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const plain = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
    // Verifies the tag. In this mode, it returns no further bytes.
    decipher.final();
    return plain.toString('utf8');
  }
}

function fingerprintBy({ id, bytes }: SecretKey, text: string): string {
  const key = Buffer.from(hkdfSync('sha256', bytes, '', 'tocsin fingerprints v1', 32));
  return `${id}.${createHmac('sha256', key).update(text).digest('base64')}`;
}

function idOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}
