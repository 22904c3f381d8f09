import { createHash, X509Certificate } from 'node:crypto';
import tls, { type SecureContext } from 'node:tls';
import type { TlsSettings } from '@tocsin/contracts/monitors/connection';
import { CertificateChains } from './certificate-chain.ts';

/** Omits the post-quantum groups of newer OpenSSL, whose key exchange takes a tenth of the CPU time of a check. */
const KEY_EXCHANGE_GROUPS = 'X25519:P-256:P-384:P-521';
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;
/** Bounds memory, because a context without CAs of its own may keep a copy of all public CAs. */
const MAX_CONTEXTS = 500;
const CHAINS_OF_OWN_CA = 20;

/** A TLS context, with the chains to its trusted CAs. */
export interface Trust {
  readonly context: SecureContext;
  readonly chains: CertificateChains;
}

/** Keeps a TLS context for each trusted CA and client certificate, because creating one takes as long as several checks. */
export class SecureContexts {
  readonly #ca: string[] | undefined;
  readonly #default: Trust;
  readonly #contexts = new Map<string, Trust>();

  /** @param extraCa PEM certificates of CAs to trust besides the public ones @throws TypeError if it contains no valid certificate */
  constructor(extraCa: string | null) {
    // Without `ca`, Node uses its built-in store and NODE_EXTRA_CA_CERTS.
    this.#ca =
      extraCa === null ? undefined : [...tls.rootCertificates, ...parseCertificates(extraCa, 'the extra CA')];
    this.#default = {
      context: create({ ca: this.#ca }),
      chains: new CertificateChains(this.#ca ?? tls.rootCertificates),
    };
  }

  /** @throws a TypeError or an error of OpenSSL if the settings are not valid */
  of({ ca, certificate, key }: TlsSettings = {}): Trust {
    if (ca === undefined && certificate === undefined) return this.#default;
    const id = createHash('sha256')
      .update(JSON.stringify([ca, certificate, key]))
      .digest('base64');
    const trust = this.#contexts.get(id) ?? this.#create({ ca, certificate, key });
    // Inserting it again makes it the most recently used one.
    this.#contexts.delete(id);
    this.#contexts.set(id, trust);
    const [oldest] = this.#contexts.keys();
    if (this.#contexts.size > MAX_CONTEXTS && oldest !== undefined) this.#contexts.delete(oldest);
    return trust;
  }

  #create({ ca, certificate, key }: TlsSettings): Trust {
    // OpenSSL skips certificates that do not begin on a line of their own.
    const own = ca === undefined ? undefined : parseCertificates(ca, 'the CA');
    const cert = certificate?.match(PEM_CERTIFICATE)?.join('\n');
    return {
      context: create({ ca: own ?? this.#ca, cert, key }),
      chains: own ? new CertificateChains(own, CHAINS_OF_OWN_CA) : this.#default.chains,
    };
  }
}

function create({ ca, cert, key }: tls.SecureContextOptions): SecureContext {
  return tls.createSecureContext({
    ecdhCurve: KEY_EXCHANGE_GROUPS,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  });
}

function parseCertificates(ca: string, noun: string): string[] {
  const certificates = ca.match(PEM_CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new TypeError(`${noun} contains no PEM certificate`);
  for (const [index, pem] of certificates.entries()) {
    try {
      // OpenSSL silently skips invalid certificates.
      void new X509Certificate(pem);
    } catch (cause) {
      throw new TypeError(`certificate ${index + 1} of ${noun} is not valid`, { cause });
    }
  }
  return certificates;
}
