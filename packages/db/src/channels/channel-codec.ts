import { isDeepStrictEqual } from 'node:util';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { HIDDEN_SECRET } from '@tocsin/contracts/fields';
import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import { mapValues, UNREADABLE } from '../monitors/monitor-codec.ts';
import type { ChannelRow } from './table.ts';

export type SealedFields = Pick<ChannelRow, 'sealedHeaders' | 'sealedRoutingKey'>;
type OpenFields = Pick<Channel, 'headers' | 'routingKey'>;

/** Shows header values and the routing key. @param secrets null hides them. A value that no key decrypts is "(unreadable)" */
export function openFields(
  { sealedHeaders, sealedRoutingKey }: SealedFields,
  secrets: SecretBox | null,
): OpenFields {
  const open = (sealed: string): string => {
    if (secrets === null) return HIDDEN_SECRET;
    try {
      return secrets.decrypt(sealed);
    } catch {
      return UNREADABLE;
    }
  };
  return {
    headers: sealedHeaders && mapValues(sealedHeaders, open),
    routingKey: sealedRoutingKey === null ? null : open(sealedRoutingKey),
  };
}

/** Seals the given fields that change, so that an update without changes writes nothing. */
export function sealFields(
  before: SealedFields,
  { headers, routingKey }: { readonly [Field in keyof OpenFields]?: OpenFields[Field] | undefined },
  secrets: SecretBox,
): Partial<SealedFields> {
  const shown = openFields(before, secrets);
  const seal = (value: string): string => secrets.encrypt(value);
  return {
    ...(headers !== undefined &&
      !isDeepStrictEqual(headers, shown.headers) && { sealedHeaders: headers && mapValues(headers, seal) }),
    ...(routingKey !== undefined &&
      routingKey !== shown.routingKey && { sealedRoutingKey: routingKey && seal(routingKey) }),
  };
}
