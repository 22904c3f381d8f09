import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import tls from 'node:tls';
import type { FieldError } from '@tocsin/contracts/errors';
import type { TlsSettings } from '@tocsin/contracts/monitors/connection';
import { sanitiseDetail } from './error-reason.ts';

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** Parses the PEM texts of valid TLS settings. Accepts expired certificates, which the checks report. */
export function findTlsErrors({ ca, certificate, key }: TlsSettings): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (field: keyof TlsSettings, message: string): null => {
    errors.push({ path: `tls.${field}`, message });
    return null;
  };
  const parse = (field: 'ca' | 'certificate', pem = ''): X509Certificate | null => {
    const [first = null] = (pem.match(PEM_CERTIFICATE) ?? []).map((one, index) => {
      const place = index === 0 ? '' : ` (certificate ${index + 1})`;
      return parsed(() => new X509Certificate(one)) ?? refuse(field, `is not a PEM certificate${place}`);
    });
    return first;
  };
  parse('ca', ca);
  const leaf = parse('certificate', certificate);
  const privateKey =
    key === undefined
      ? null
      : (parsed(() => createPrivateKey(key)) ?? refuse('key', 'is not a PEM private key'));
  if (leaf !== null && privateKey !== null && !leaf.checkPrivateKey(privateKey))
    refuse('key', 'belongs to another key: it is not the private key of `certificate`');
  if (errors.length > 0) return errors;
  try {
    tls.createSecureContext({
      // An empty list saves loading the public CAs.
      ca: ca ?? [],
      ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }),
    });
  } catch (error) {
    const reason = sanitiseDetail(/[^:]*$/.exec((error as Error).message)?.[0] ?? '');
    refuse(certificate === undefined ? 'ca' : 'certificate', `is refused by OpenSSL: ${reason}`);
  }
  return errors;
}

function parsed<Value extends X509Certificate | KeyObject>(parse: () => Value): Value | null {
  try {
    return parse();
  } catch {
    return null;
  }
}
