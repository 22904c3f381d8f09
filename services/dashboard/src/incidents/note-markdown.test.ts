import { expect, test } from '@jest/globals';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import ReactMarkdown from 'react-markdown';
import { NOTE_OPTIONS } from './note-markdown.ts';

const render = (text: string): string =>
  renderToStaticMarkup(createElement(ReactMarkdown, NOTE_OPTIONS, text));
const linked = (url: string): string => `<a href="${url}">${url}</a>`;

test.each([
  ['Expected <title> but got <head>', '<p>Expected &lt;title&gt; but got &lt;head&gt;</p>'],
  ['<pre>\none\n\ntwo</pre>', '<p>&lt;pre&gt;<br/>\none</p>\n<p>two&lt;/pre&gt;</p>'],
  ['- <b>\n- <!-- no -->', '<ul>\n<li>&lt;b&gt;</li>\n<li>&lt;!-- no --&gt;</li>\n</ul>'],
])('HTML is shown as it was written: %j', (text, html) => {
  expect(render(text)).toBe(html);
});

test.each([
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '![a](https://spy.example/x.png)',
  '<iframe src="javascript:alert(1)"></iframe>',
  '<a href="javascript:alert(1)">a</a>',
  '[a](javascript:alert(1))',
  '[a]( JaVaScRiPt:alert(1))',
  '[a](data:text/html,x)',
  '<javascript:alert(1)>',
  'javascript://x/%0aalert(1)',
  '<svg onload=alert(1)>',
])('%j is rendered without active content', (text) => {
  const html = render(text);
  expect(html.match(/<\/?[a-z]+/g)?.filter((tag) => !['<p', '</p', '<a', '</a'].includes(tag))).toEqual([]);
  expect(html).not.toMatch(/href="[^"]/);
  expect(html).not.toMatch(/<[^>]+\son/);
});

const url = 'https://shop.example/a?b=1';
test.each([
  [`${url}, ${url}; really?! ${url}?!`, `${linked(url)}, ${linked(url)}; really?! ${linked(url)}?!`],
  [`(${url}).`, `(${linked(url)}).`],
  ['(https://en.example/Tocsin_(bell))', `(${linked('https://en.example/Tocsin_(bell)')})`],
  [
    '[https://a.example/?ids[]=1]',
    '[<a href="https://a.example/?ids%5B%5D=1">https://a.example/?ids[]=1</a>]',
  ],
  // The library would encode the brackets.
  ['http://[::1]:3000/x', 'http://[::1]:3000/x'],
  [`**${url}**`, `<strong>${linked(url)}</strong>`],
  [`a\n${url}\nb`, `a<br/>\n${linked(url)}<br/>\nb`],
  [`[text ${url}](https://other.example/)`, `<a href="https://other.example/">text ${url}</a>`],
  [`\`${url}\``, `<code>${url}</code>`],
  ['https:// and https://... and ftp://a.example', 'https:// and https://... and ftp://a.example'],
])('a bare URL is a link: %s', (text, html) => {
  expect(render(text)).toBe(`<p>${html}</p>`);
});

// A pattern that backtracks without a bound would never end.
test('a URL followed by thousands of brackets is rendered', () => {
  for (const part of ['https://(', 'https://[', 'https://a(', 'https://x.', '.', '(', ')'])
    expect(render(`https://x${part.repeat(Math.floor(9_000 / part.length))}`)).toContain('https');
});
