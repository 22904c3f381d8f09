import { expect, test } from '@jest/globals';
import { toFormErrors } from './form.ts';

test.each([
  ['must be in the past', 'Must be in the past.'],
  ['must not be blank (1 to 10000 characters)', 'Must not be blank (1 to 10,000 characters).'],
  ['Enter a date and a time.', 'Enter a date and a time.'],
  ['app: is given twice', 'app: is given twice.'],
  ['endsAt must be after startsAt', 'endsAt must be after startsAt.'],
  ['UNTIL must be a time such as 20261231T235959Z', 'UNTIL must be a time such as 20261231T235959Z.'],
])('shows "%s" as a sentence', (message, sentence) => {
  expect(toFormErrors([{ path: 'field', message }])).toEqual({ field: sentence });
});

test('the first error of a field counts, and an element counts for its list', () => {
  const errors = ['ids.3', 'ids', 'name'].map((path, index) => ({ path, message: `Error ${index}.` }));
  expect(toFormErrors(errors)).toEqual({ ids: 'Error 0.', name: 'Error 2.' });
});
