import { X509Certificate } from 'node:crypto';

const MAX_CERTIFICATES = 10;
const CACHED_CHAINS = 10_000;

/** Calculates when certificate chains expire, and caches the result by the certificates that a server sends. */
export class CertificateChains {
  readonly #pems: readonly string[];
  readonly #cached: number;
  #trusted: ReadonlyMap<string, readonly X509Certificate[]> | null = null;
  readonly #expiries = new Map<string, Date | null>();

  /** @param pems trusted certificates, which are parsed with the first chain */
  constructor(pems: readonly string[], cached = CACHED_CHAINS) {
    this.#pems = pems;
    this.#cached = cached;
  }

  /**
   * Returns when the first certificate of a verified chain expires, without its trusted root. Null without a readable date. Checks no
   * dates, because TLS has verified the chain.
   * @param leaf of a connection. Its `issuerCertificate` is the next certificate that the server sent
   */
  expiryOf(leaf: X509Certificate): Date | null {
    const sent: X509Certificate[] = [];
    let next: X509Certificate | undefined = leaf;
    for (; next !== undefined && sent.length < MAX_CERTIFICATES; next = next.issuerCertificate)
      sent.push(next);
    const key = sent.map(({ fingerprint256 }) => fingerprint256).join(' ');
    const known = this.#expiries.get(key);
    if (known !== undefined) return known;
    const times = this.#verifiedChain(leaf, sent).map(({ validTo }) => Date.parse(validTo));
    const readable = times.filter((time) => !Number.isNaN(time));
    const expiry = readable.length === 0 ? null : new Date(Math.min(...readable));
    const oldest = this.#expiries.size >= this.#cached ? this.#expiries.keys().next().value : undefined;
    if (oldest !== undefined) this.#expiries.delete(oldest);
    this.#expiries.set(key, expiry);
    return expiry;
  }

  /**
   * Builds the chain like OpenSSL, which Node does not expose. A trusted issuer takes precedence over one that the server sent, and one that
   * is valid for longer over an older certificate of the same issuer. TLS has verified the signatures.
   */
  #verifiedChain(leaf: X509Certificate, sent: readonly X509Certificate[]): readonly X509Certificate[] {
    const chain = [leaf];
    let last = leaf;
    while (chain.length < MAX_CERTIFICATES) {
      const isIssuer = (one: X509Certificate): boolean => !chain.includes(one) && last.checkIssued(one);
      const issuer = latest(this.#trustedBySubject().get(last.issuer), isIssuer) ?? latest(sent, isIssuer);
      if (issuer === undefined || issuer.checkIssued(issuer)) break;
      chain.push(issuer);
      last = issuer;
    }
    return chain;
  }

  #trustedBySubject(): ReadonlyMap<string, readonly X509Certificate[]> {
    if (this.#trusted !== null) return this.#trusted;
    const trusted = new Map<string, X509Certificate[]>();
    for (const pem of this.#pems) {
      const certificate = new X509Certificate(pem);
      trusted.set(certificate.subject, [...(trusted.get(certificate.subject) ?? []), certificate]);
    }
    this.#trusted = trusted;
    return trusted;
  }
}

/** Returns the certificate that expires last. */
function latest(
  certificates: readonly X509Certificate[] = [],
  isIssuer: (one: X509Certificate) => boolean,
): X509Certificate | undefined {
  return certificates
    .filter(isIssuer)
    .toSorted((one, other) => Date.parse(other.validTo) - Date.parse(one.validTo))[0];
}
