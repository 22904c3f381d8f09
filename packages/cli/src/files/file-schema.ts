import { LIMITS } from '@tocsin/contracts/limits';
import { monitorSetEntrySchema, monitorSetSchema } from '@tocsin/contracts/monitor-set';
import { z } from 'zod';

const { externalId: _externalId, name: _name, url: _url, ...shared } = monitorSetEntrySchema.shape;

/** What a monitor may leave out, as every monitor of the file has it that does not say otherwise. */
export const defaultsSchema = z.strictObject(shared).partial();

/** A file of monitors, before anything is put in the place of variables. */
export const fileSchema = z.strictObject({
  source: monitorSetSchema.shape.source.optional(),
  defaults: defaultsSchema.optional(),
  monitors: z.array(monitorSetEntrySchema),
});

/** What an editor tells of each field. */
const NOTES: Readonly<Record<string, string>> = {
  source: 'Whose monitors these are. A set never touches monitors of another source.',
  defaults: 'Fields of every monitor of this file that does not name them itself.',
  monitors: 'The monitors that there shall be.',
  externalId: 'Your own stable key of the monitor, unique in the account. Another one is another monitor.',
  name: 'Shown in the dashboard and in alerts.',
  url: 'What is checked: http or https, with any path and query.',
  type: 'Only HTTP.',
  interval: `Seconds from one check to the next; ${LIMITS.intervalSeconds.default} by default.`,
  timeout: `Seconds that a check may take, with redirects and body; ${LIMITS.timeoutSeconds.default} by default.`,
  method: 'GET by default.',
  headers: 'Sent with each check. Keep secrets out of the file: ${NAME} is a variable of the environment.',
  body: 'Sent with POST, PUT and PATCH.',
  assertions: 'What must hold for a check to be UP; without any, a status of 200 to 399.',
  failureThreshold: `Consecutive failures of a region before it counts as failing; ${LIMITS.failureThreshold.default} by default.`,
  regions: 'Codes of the regions that check it; none: the default region.',
  runbookUrl: 'Goes into alerts.',
  statusCode: 'The answer must have exactly this status.',
  bodyContains: 'The first MiB of the answer must hold this text.',
  bodyNotContains: 'The first MiB of the answer must not hold this text.',
  maxLatency: 'Milliseconds that the exchange may take.',
  certificateMinDays: 'Days that the certificate must still be valid.',
};

/** The JSON Schema of a file, for editors; `packages/cli/tocsin.schema.json` is kept equal to it. */
export function fileJsonSchema(): object {
  const schema = z.toJSONSchema(fileSchema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema, path }) => {
      const field = path.at(-2) === 'properties' ? String(path.at(-1)) : '';
      if (field === 'headers') {
        delete jsonSchema.anyOf;
        Object.assign(jsonSchema, { type: ['object', 'null'], additionalProperties: { type: 'string' } });
      }
      // A variable is none yet.
      if (jsonSchema.format === 'uri') delete jsonSchema.format;
      const note = NOTES[field];
      if (note !== undefined) jsonSchema.description = note;
    },
  });
  return {
    ...schema,
    title: 'tocsin.yaml',
    description: 'Monitors of Tocsin as code, for the command `tocsin apply`.',
  };
}
