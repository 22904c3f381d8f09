import 'reflect-metadata';
import { isIP } from 'node:net';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const SIGNING = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;

export interface CertificateOptions {
  /** Days until the server certificate expires, negative for an expired certificate. Defaults to 30. */
  readonly validDays?: number;
  /** Days until the certificate becomes valid. Defaults to one day ago, and before its expiry. */
  readonly startsInDays?: number;
  /** Subject alternative names. Defaults to `hosts`. The common name is always the first host. */
  readonly alternativeNames?: readonly string[];
}

/** PEM texts of the trusted CA, the server's private key (PKCS #8) and its certificate. */
export interface Certificate {
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

/**
 * Creates a server certificate for names and addresses, signed by a new CA (EC P-256). For tests and the demo, because the CA's private key
 * is discarded.
 */
export async function createCertificate(
  hosts: readonly string[],
  options: CertificateOptions = {},
): Promise<Certificate> {
  const [commonName] = hosts;
  if (commonName === undefined) throw new TypeError('createCertificate needs at least one host');
  const alternativeNames = options.alternativeNames ?? hosts;
  const authority = await createAuthority();
  const keys = await generateKeys();
  const notAfter = new Date(Date.now() + (options.validDays ?? 30) * DAY_MS);
  const leaf = await x509.X509CertificateGenerator.create(
    {
      serialNumber: serialNumber(),
      subject: [{ CN: [commonName] }],
      issuer: authority.certificate.subject,
      // The certificate must become valid before it expires, even if it has already expired.
      notBefore: new Date(
        options.startsInDays === undefined
          ? Math.min(Date.now(), notAfter.getTime()) - DAY_MS
          : Date.now() + options.startsInDays * DAY_MS,
      ),
      notAfter,
      publicKey: keys.publicKey,
      signingKey: authority.privateKey,
      signingAlgorithm: SIGNING,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        ...(alternativeNames.length > 0 ? [subjectAlternativeNames(alternativeNames)] : []),
        await x509.AuthorityKeyIdentifierExtension.create(authority.certificate.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return {
    ca: authority.certificate.toString('pem'),
    key: await privateKeyPem(keys.privateKey),
    cert: leaf.toString('pem'),
  };
}

function subjectAlternativeNames(names: readonly string[]): x509.Extension {
  return new x509.SubjectAlternativeNameExtension(
    names.map((name) => {
      if (isIP(name) !== 0) return { type: 'ip', value: name };
      return { type: name.includes('://') ? 'url' : 'dns', value: name };
    }),
  );
}

async function createAuthority(): Promise<{
  certificate: x509.X509Certificate;
  privateKey: webcrypto.CryptoKey;
}> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: serialNumber(),
      name: [{ CN: ['Tocsin test CA'] }],
      notBefore: new Date(Date.now() - 3650 * DAY_MS),
      notAfter: new Date(Date.now() + 3650 * DAY_MS),
      keys,
      signingAlgorithm: SIGNING,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return { certificate, privateKey: keys.privateKey };
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(SIGNING, true, ['sign', 'verify']);
}

async function privateKeyPem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

/** Returns a positive number of fixed length, with a first byte from 01 to 7f. */
function serialNumber(): string {
  const bytes = webcrypto.getRandomValues(Buffer.alloc(16));
  bytes[0] = 1 + ((bytes[0] ?? 0) % 127);
  return bytes.toString('hex');
}
