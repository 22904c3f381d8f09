import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { settings } from './settings.ts';

/** The lines of `.env.example`: comments collected until the variable they belong to. */
async function readExample(): Promise<Map<string, { comment: string; value: string }>> {
  const text = await readFile(new URL('../../../.env.example', import.meta.url), 'utf8');
  const entries = new Map<string, { comment: string; value: string }>();
  let comment: string[] = [];
  for (const line of text.split('\n')) {
    const variable = /^#?([A-Z][A-Z0-9_]*)=(.*)$/.exec(line);
    if (variable?.[1] !== undefined) {
      entries.set(variable[1], {
        comment: comment.join(' '),
        value: (variable[2] ?? '').replaceAll('"', ''),
      });
      comment = [];
    } else if (line.startsWith('# ')) comment.push(line.slice(2));
    else comment = [];
  }
  return entries;
}

describe('.env.example', () => {
  it('has every variable once, and no other', async () => {
    const names = [...(await readExample()).keys()].filter((name) => name !== 'QUEUE_URL_EU_WEST_1');
    expect(names.toSorted()).toEqual(Object.keys(settings.shape).toSorted());
  });

  it('says what each is for, in the words of the catalogue, with the default or an example', async () => {
    const example = await readExample();
    for (const [name, schema] of Object.entries(settings.shape)) {
      const entry = example.get(name);
      expect([name, entry?.comment]).toEqual([
        name,
        expect.stringContaining(String(schema.meta()?.['description'])),
      ]);
      const unset = schema.safeParse(undefined);
      if (/_FILE$|^DASHBOARD_DIR$/.test(name)) continue;
      expect([name, schema.safeParse(entry?.value).success]).toEqual([name, true]);
      const preset = unset.success && unset.data !== undefined && String(unset.data) !== '';
      if (preset) expect([name, entry?.value]).toEqual([name, String(unset.data)]);
    }
  });
});
