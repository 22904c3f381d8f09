import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { Colors } from 'picocolors/types.js';

/** A status in its colour. */
export function statusText(status: MonitorStatus, colors: Colors): string {
  if (status === 'UP') return colors.green(status);
  return status === 'DOWN' ? colors.red(status) : colors.yellow(status);
}
