import { expect, test } from '@jest/globals';
import { CAMPAIGNS } from './campaigns.ts';
import { selectRuns } from './main.ts';

const DAY = 20_784;
const namesOf = (...args: string[]): string[] | undefined =>
  selectRuns(args, DAY)?.map(({ campaign }) => campaign.name);

test('without a name, all campaigns run, and with names, only these', () => {
  expect(namesOf()).toEqual(CAMPAIGNS.map(({ name }) => name));
  expect(namesOf('fuzz', 'faults')).toEqual(['fuzz', 'faults']);
  expect(() => selectRuns(['fuz'], DAY)).toThrow('There is no campaign "fuz". The campaigns are faults,');
});
