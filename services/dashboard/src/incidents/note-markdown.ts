import { defaultUrlTransform, type Options } from 'react-markdown';
import remarkBreaks from 'remark-breaks';
import remarkGfm from 'remark-gfm';

/** Turns off the syntax of HTML, so that HTML is shown as text. */
function readHtmlAsText(this: { data(): object }): void {
  const data: { micromarkExtensions?: object[] } = this.data();
  const disable = { null: ['htmlFlow', 'htmlText'] };
  data.micromarkExtensions = [...(data.micromarkExtensions ?? []), { disable }];
}

/** Renders HTML as text, keeps line breaks, and links bare URLs. */
export const NOTE_OPTIONS: Options = {
  remarkPlugins: [readHtmlAsText, remarkGfm, remarkBreaks],
  // Images would reveal every reader to another site.
  disallowedElements: ['img'],
  // Allows only absolute addresses.
  urlTransform: (url) => (/^(https?|mailto):/i.test(url) ? defaultUrlTransform(url) : ''),
};
