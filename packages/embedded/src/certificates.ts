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
  /** Days until an intermediate certificate expires, which the server sends. By default, there is none. */
  readonly intermediateDays?: number;
  /** Days until an older certificate of the intermediate authority expires, which the server sends first. By default, there is none. */
  readonly olderIntermediateDays?: number;
  /** Days until another certificate of the CA expires, which the server sends. It is signed by a CA that is not trusted. By default, there is none. */
  readonly crossSignedDays?: number;
  /** Subject alternative names. Defaults to `hosts`. The common name is always the first host. */
  readonly alternativeNames?: readonly string[];
}

/** PEM texts of the trusted CA, the private key (PKCS #8) of a server or client, and its certificate with those that it sends along. */
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
  const root = await createAuthority('Tocsin test CA');
  const authority =
    options.intermediateDays === undefined
      ? root
      : await createAuthority('Tocsin test intermediate', root, options.intermediateDays);
  const crossSigned =
    options.crossSignedDays === undefined
      ? null
      : await createAuthority('', await createAuthority('Old CA'), options.crossSignedDays, root);
  const older =
    options.olderIntermediateDays === undefined
      ? null
      : await createAuthority('', root, options.olderIntermediateDays, authority);
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
      signingKey: authority.keys.privateKey,
      signingAlgorithm: SIGNING,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([
          x509.ExtendedKeyUsage.serverAuth,
          x509.ExtendedKeyUsage.clientAuth,
        ]),
        ...(alternativeNames.length > 0 ? [subjectAlternativeNames(alternativeNames)] : []),
        await x509.AuthorityKeyIdentifierExtension.create(authority.certificate.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return {
    ca: root.certificate.toString('pem'),
    key: await privateKeyPem(keys.privateKey),
    cert: [
      leaf,
      older?.certificate ?? [],
      authority === root ? [] : authority.certificate,
      crossSigned?.certificate ?? [],
    ]
      .flat()
      .map((certificate) => certificate.toString('pem'))
      .join('\n'),
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

interface Authority {
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
}

/** @param issuer none for a self-signed root. @param same authority whose name and keys the certificate repeats */
async function createAuthority(
  name: string,
  issuer?: Authority,
  validDays = 3650,
  same?: Authority,
): Promise<Authority> {
  const keys = same?.keys ?? (await generateKeys());
  const subject = same?.certificate.subject ?? `CN=${name}`;
  const certificate = await x509.X509CertificateGenerator.create(
    {
      serialNumber: serialNumber(),
      subject,
      issuer: issuer?.certificate.subject ?? subject,
      notBefore: new Date(Date.now() - 3650 * DAY_MS),
      notAfter: new Date(Date.now() + validDays * DAY_MS),
      publicKey: keys.publicKey,
      signingKey: (issuer?.keys ?? keys).privateKey,
      signingAlgorithm: SIGNING,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return { certificate, keys };
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
