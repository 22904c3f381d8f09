import { expect, test } from '@jest/globals';
import { toCsv } from './csv.ts';

test('a table has one line per row, each with CRLF at its end', () => {
  expect(toCsv(['Name', 'Checks'], [])).toBe('Name,Checks\r\n');
  expect(
    toCsv(
      ['Name', 'Checks'],
      [
        ['Shop', 2_880],
        ['Blog', null],
      ],
    ),
  ).toBe('Name,Checks\r\nShop,2880\r\nBlog,\r\n');
});

test.each([
  ['Shop, new', '"Shop, new"'],
  ['The "shop"', '"The ""shop"""'],
  ['two\nlines', '"two\nlines"'],
  [' padded ', '" padded "'],
  ['Crème brûlée 漢字', 'Crème brûlée 漢字'],
  ['https://shop.example/?a=1', 'https://shop.example/?a=1'],
  ['', ''],
])('the text %j becomes the field %j', (text, field) => {
  expect(toCsv(['Name'], [[text]])).toBe(`Name\r\n${field}\r\n`);
});

test.each([
  ['=1+1', "'=1+1"],
  ['+49 30 1234', "'+49 30 1234"],
  ['-shop', "'-shop"],
  ['@shop', "'@shop"],
  ['＝1+1', "'＝1+1"],
  [' =1+1', "' =1+1"],
  ['\t=1+1', "'\t=1+1"],
  ['\r=1+1', '"\'\r=1+1"'],
  ['=HYPERLINK("https://evil.example","a")', '"\'=HYPERLINK(""https://evil.example"",""a"")"'],
])('the text %j never becomes a formula', (text, field) => {
  expect(toCsv([text], [[text]])).toBe(`${field}\r\n${field}\r\n`);
});

test('a negative number stays a number', () => {
  expect(toCsv(['Change'], [[-1.5]])).toBe('Change\r\n-1.5\r\n');
});
