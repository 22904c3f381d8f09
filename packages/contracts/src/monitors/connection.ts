import { z } from 'zod';
import { component, flag, HIDDEN_ERROR, HIDDEN_SECRET, storableText } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { parseUrl } from '../parse-url.ts';

export const ipFamily = z.literal([4, 6], { error: 'must be 4 or 6' }).nullable();

const MAX_PORT = 65_535;

/** Parses `host`, `host:port`, `[IPv6]:port` or a bare IPv6 address. The port is empty if the text has none. Returns null if it is invalid. */
export function parseConnectTo(text: string): Pick<URL, 'hostname' | 'port'> | null {
  const bracketed = /^[^[\]]*:[^[\]]*:[^[\]]*$/.test(text) ? `[${text}]` : text;
  const [, host, port = ''] = /^(\[[\da-fA-F:.]+\]|[^\s/\\?#@%:[\]]+)(?::(\d{1,5}))?$/.exec(bracketed) ?? [];
  const url = host === undefined ? null : parseUrl(`http://${host}/`);
  if (url === null || url.hostname === '') return null;
  if (port !== '' && (Number(port) === 0 || Number(port) > MAX_PORT)) return null;
  return { hostname: url.hostname, port };
}

export const connectTo = storableText
  .max(LIMITS.connectToCharacters, { error: `must be at most ${LIMITS.connectToCharacters} characters` })
  .refine((text) => parseConnectTo(text) !== null, {
    error: 'must be a host or an address with an optional port, such as 192.0.2.1:8443 or origin.example',
  })
  .nullable();

/** RFC 6066 allows no addresses. The last label of a host name is never a number. */
const SERVER_NAME = /^(?=.{1,253}$)([\w-]{1,63}\.)*(?!\d+$)[\w-]{1,63}$/;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;
const PRIVATE_KEY = /-----BEGIN ([A-Z]+ )?PRIVATE KEY-----[^]+-----END ([A-Z]+ )?PRIVATE KEY-----/;
const ENCRYPTED_KEY = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

export const tlsSchema = component('TlsSettings', 'How a monitor connects by TLS.', {
  serverName: storableText
    .regex(SERVER_NAME, { error: 'must be a host name, such as shop.example' })
    .optional()
    .describe(
      "The name to request (SNI) and to verify, in place of the URL's host. Only for the URL's own origin.",
    ),
  ca: storableText
    .optional()
    .describe(
      'PEM certificates of the only CAs to trust, also after redirects. Default: those of the checker.',
    ),
  certificate: storableText
    .optional()
    .describe("PEM client certificate, then its chain. Only sent to the URL's own origin."),
  key: storableText
    .optional()
    .describe(
      `PEM private key of \`certificate\`, not encrypted. \`${HIDDEN_SECRET}\` for an API key without the scope \`write\`.`,
    ),
  verify: flag
    .optional()
    .describe('False accepts any server certificate, also after redirects. Default: true.'),
});
export type TlsSettings = z.infer<typeof tlsSchema>;

const utf8 = new TextEncoder();

/** TLS settings of a new or changed monitor. The API also parses the PEM texts (`findTlsErrors` in core). */
export const actualTls = tlsSchema.nullable().superRefine((tls, context) => {
  const { ca, certificate, key } = tls ?? {};
  const refuse = (path: (keyof TlsSettings)[], message: string): void =>
    context.addIssue({ code: 'custom', path, message });
  const bytes = [ca, certificate, key].reduce((sum, pem = '') => sum + utf8.encode(pem).length, 0);
  if (bytes > LIMITS.tlsBytes) refuse([], `must contain at most ${LIMITS.tlsBytes} bytes of PEM in all`);
  if (ca !== undefined && !CERTIFICATE.test(ca)) refuse(['ca'], 'is not a PEM certificate');
  if (certificate !== undefined && !CERTIFICATE.test(certificate))
    refuse(['certificate'], 'is not a PEM certificate');
  if (certificate !== undefined && key === undefined)
    refuse(['key'], 'is missing: `certificate` needs its private key');
  if (key === undefined) return;
  if (certificate === undefined)
    refuse(['certificate'], 'is missing: `key` needs the certificate that it belongs to');
  if (key === HIDDEN_SECRET) refuse(['key'], HIDDEN_ERROR);
  else if (ENCRYPTED_KEY.test(key))
    refuse(
      ['key'],
      'is encrypted: send it without a passphrase, for example from `openssl pkey -in key.pem`',
    );
  else if (!PRIVATE_KEY.test(key)) refuse(['key'], 'is not a PEM private key');
});
