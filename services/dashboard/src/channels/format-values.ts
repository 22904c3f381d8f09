import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ChannelFormat } from '@tocsin/contracts/vocabulary';
import { type HeaderRow, toHeaderRows, toHeaders } from '../components/header-rows.ts';

export const FORMAT_LABELS: Record<ChannelFormat, string> = {
  standard: 'Standard',
  slack: 'Slack',
  teams: 'Microsoft Teams',
  pagerduty: 'PagerDuty',
  alertmanager: 'Alertmanager',
  custom: 'Custom template',
};

type FormatFields = Pick<Channel, 'format' | 'template' | 'headers' | 'routingKey' | 'remindAfter'>;

/** Values of the form. Empty fields are null in the API. */
export type FormatValues = {
  readonly format: ChannelFormat;
  readonly template: string;
  readonly headers: HeaderRow[];
  readonly routingKey: string;
  readonly remindAfter: number | string;
};

export function toFormatValues({
  format,
  template,
  headers,
  routingKey,
  remindAfter,
}: FormatFields): FormatValues {
  return {
    format,
    template: template ?? '',
    headers: toHeaderRows(headers),
    routingKey: routingKey ?? '',
    remindAfter: remindAfter ?? '',
  };
}

/** Returns the fields of the API. A remaining text of `remindAfter` is reported by the schema. */
export function toFormat({ format, template, headers, routingKey, remindAfter }: FormatValues): FormatFields {
  return {
    format,
    template: template === '' ? null : template,
    headers: toHeaders(headers),
    routingKey: routingKey === '' ? null : routingKey,
    remindAfter: remindAfter === '' ? null : (remindAfter as number),
  };
}
