import { expect, test } from '@jest/globals';
import { findTlsErrors } from './tls-errors.ts';

/** An expired certificate and its key. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBiDCCAS2gAwIBAgIQYnq2Ri5BfpNeLCnbuCVF8zAKBggqhkjOPQQDAjAZMRcw
FQYDVQQDEw5Ub2NzaW4gdGVzdCBDQTAeFw0yNjExMTkxNjM0NDdaFw0yNjExMjcx
NjM0NDdaMAwxCjAIBgNVBAMTAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATj
fAD9swdt9daf+DuNHjmfE7t60Aa2PJD/ox0GYgGE/d5nrkyH5YE0nXEH+BkQSHYC
7jX5Y4iOXLZlUrH27QLro2QwYjAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIH
gDATBgNVHSUEDDAKBggrBgEFBQcDATAMBgNVHREEBTADggFhMB8GA1UdIwQYMBaA
FL5WgxDKPUmap3d0Z0p+Uoc4KH/nMAoGCCqGSM49BAMCA0kAMEYCIQDgbm44HMuS
7E/b+S++2/1hSRTVmVSQhA8sAsIcLDpeFQIhAM5YhNr6fKBYdtyW5jPNQLkmyoVx
SNoIAjPMxXd+Pdoq
-----END CERTIFICATE-----`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgHToJsVLJdf/Ioapk
dgK5AWfG6Akr7k1e/g+cXuOOXsyhRANCAATjfAD9swdt9daf+DuNHjmfE7t60Aa2
PJD/ox0GYgGE/d5nrkyH5YE0nXEH+BkQSHYC7jX5Y4iOXLZlUrH27QLr
-----END PRIVATE KEY-----`;
const OTHER_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnKgf1v6M8zx8Cktv
4UiDmQnSg4pbRoR1chpkabrPO4yhRANCAAQWQtuLlObQfoIeAZjciANAMagtuguk
F4E2hDwX5CnLdm0BlgZfi7l6EY+CQ7cQs79NtFiYjj8ofSCV0Bws1rkv
-----END PRIVATE KEY-----`;
/** A certificate with an RSA key of 512 bits. */
const WEAK = `-----BEGIN CERTIFICATE-----
MIIBcTCCARugAwIBAgIUUC5xxFZ4ZInPZeCs+9u8vxC356owDQYJKoZIhvcNAQEL
BQAwDDEKMAgGA1UEAwwBYTAgFw0yNjExMjgxNjMzNDZaGA8yMTI2MTEwNDE2MzM0
NlowDDEKMAgGA1UEAwwBYTBcMA0GCSqGSIb3DQEBAQUAA0sAMEgCQQDHxfRX92TM
BK21PGZ1WzIc+2OrcqDF6YqNhdwCiWdDdzQZz24PCMpKXJbwCrJ52yTD2wHhn8/j
4r99wnajvGVhAgMBAAGjUzBRMB0GA1UdDgQWBBRIohfkQS7H2G61zOpJLauaIJZS
4DAfBgNVHSMEGDAWgBRIohfkQS7H2G61zOpJLauaIJZS4DAPBgNVHRMBAf8EBTAD
AQH/MA0GCSqGSIb3DQEBCwUAA0EAlCSxxLxMM4JNA+GZ/rKRlvD4rMH0UQpgrZrz
apzUCyXTgVkKHq4b8EK+2d1NtqS0hJp0ObtyocUvjMwHw4Z8JQ==
-----END CERTIFICATE-----`;
const WEAK_KEY = `-----BEGIN PRIVATE KEY-----
MIIBVgIBADANBgkqhkiG9w0BAQEFAASCAUAwggE8AgEAAkEAx8X0V/dkzASttTxm
dVsyHPtjq3KgxemKjYXcAolnQ3c0Gc9uDwjKSlyW8Aqyedskw9sB4Z/P4+K/fcJ2
o7xlYQIDAQABAkEAl3PO8+W9yCJ/4xfAgZY63tgDTxafJowQm4xxKIcs/2qF/oPD
PPN+Rtgx1J+7xXpIfEQo42y41QU7dG1BX1mtAQIhAPubqz6FkhJci0XRc1DJB4pK
7GUdOM77+7ZviQ1NhmXxAiEAy0KoTm1s6YO3O0y9MDXnb3eVfp9OgJR720m7RRyh
xnECIQC0mUMsiHGVzmmFftbX2MQZxrexyGzbXVGK3LoyG0Bp8QIgH21WApJOtahE
62lJEywydXyi46oUBDNxFw3GY8AyjzECIQDyS3bEd1tXd3pOSApoLbj327n7ooaJ
Uvj4zo3GejZExQ==
-----END PRIVATE KEY-----`;
const BROKEN = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const BROKEN_WITH_HYPHEN = BROKEN.replace('AAAA', 'A-AA');
const BROKEN_KEY = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';

test.each([
  [{}, []],
  [{ ca: `${CERTIFICATE}\n${CERTIFICATE}`, certificate: `${CERTIFICATE}\n${CERTIFICATE}`, key: KEY }, []],
  [{ ca: BROKEN }, [['tls.ca', 'is not a PEM certificate']]],
  [{ ca: `${CERTIFICATE}\n${BROKEN}` }, [['tls.ca', 'is not a PEM certificate (certificate 2)']]],
  [{ ca: `${CERTIFICATE}\n${BROKEN_WITH_HYPHEN}` }, [['tls.ca', 'is not a PEM certificate (certificate 2)']]],
  [
    { certificate: BROKEN, key: BROKEN_KEY },
    [
      ['tls.certificate', 'is not a PEM certificate'],
      ['tls.key', 'is not a PEM private key'],
    ],
  ],
  [
    { certificate: CERTIFICATE, key: OTHER_KEY },
    [['tls.key', 'belongs to another key: it is not the private key of `certificate`']],
  ],
  [{ certificate: WEAK, key: WEAK_KEY }, [['tls.certificate', 'is refused by OpenSSL: ee key too small']]],
])('%#: finds what OpenSSL cannot use', (tls, expected) => {
  expect(findTlsErrors(tls).map(({ path, message }) => [path, message])).toEqual(expected);
});
