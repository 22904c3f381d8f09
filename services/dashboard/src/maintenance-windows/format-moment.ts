const formats = new Map<string, Intl.DateTimeFormat>();

/** Weekday, date and time as the clocks of a zone show it, in the reader's language. @param iso ISO 8601 */
export function formatMoment(iso: string, zone: string): string {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(undefined, {
      timeZone: zone,
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
    });
    formats.set(zone, format);
  }
  return format.format(new Date(iso));
}
