import type { Channel } from '@tocsin/contracts/channels/channel';
import type { FieldError } from '@tocsin/contracts/errors';
import type { ChannelFormat } from '@tocsin/contracts/vocabulary';

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
  /** One header per line, such as `Authorization: Bearer …`. */
  readonly headers: string;
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
    headers: Object.entries(headers ?? {})
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
    routingKey: routingKey ?? '',
    remindAfter: remindAfter ?? '',
  };
}

/** Returns the fields of the API. A remaining text of `remindAfter` is reported by the schema. */
export function toFormat({ format, template, headers, routingKey, remindAfter }: FormatValues): FormatFields {
  const lines = headers.split('\n').filter((line) => line.trim() !== '');
  const entries = lines.map((line) => {
    const [name = '', ...rest] = line.split(':');
    return [name.trim(), rest.join(':').trim()];
  });
  return {
    format,
    template: template === '' ? null : template,
    headers: entries.length === 0 ? null : (Object.fromEntries(entries) as Record<string, string>),
    routingKey: routingKey === '' ? null : routingKey,
    remindAfter: remindAfter === '' ? null : (remindAfter as number),
  };
}

/** Errors of a header belong to the whole list. */
export function toFormatField({ path, message }: FieldError): FieldError {
  const [field = '', ...rest] = path.split('.');
  return field === 'headers' && rest.length > 0
    ? { path: field, message: `${rest.join('.')}: ${message}` }
    : { path, message };
}
