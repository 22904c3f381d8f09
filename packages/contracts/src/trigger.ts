import { z } from 'zod';
import { httpUrl } from './http-url.ts';

/** Body of "trigger an immediate check": optional, and so is its one field (design §3). */
export const triggerSchema = z
  .strictObject({
    url: httpUrl
      .nullable()
      .default(null)
      .describe(
        "Checked this once in place of the monitor's URL. Needs the scope `write`, and moves no status.",
      ),
  })
  .meta({ id: 'Trigger' });
