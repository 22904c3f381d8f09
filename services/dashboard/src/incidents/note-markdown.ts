import { defaultUrlTransform, type Options } from 'react-markdown';

/** A node of the Markdown syntax tree. */
interface Node {
  readonly type: string;
  readonly value?: string;
  readonly url?: string;
  children?: Node[];
}

/** HTML directly inside these nodes is a block. */
const CONTAINERS = new Set(['root', 'blockquote', 'listItem']);
const LINKS = new Set(['link', 'linkReference']);
/** A line break, or a URL without unpaired brackets and trailing punctuation. */
const BREAK_OR_URL =
  /(\n|\bhttps?:\/\/(?!\[)(?:[^\s<>"“”()[\]]|\([^\s<>"“”()]*\)|\[[^\s<>"“”[\]]*\])+(?<![.,:;!?'*_~]))/i;

/** Renders HTML as text, keeps line breaks, and links bare URLs. */
export const NOTE_OPTIONS: Options = {
  remarkPlugins: [() => (tree: Node) => replaceText(tree, false)],
  // Images would reveal every reader to another site.
  disallowedElements: ['img'],
  // Allows only absolute addresses.
  urlTransform: (url) => (/^(https?|mailto):/i.test(url) ? defaultUrlTransform(url) : ''),
};

function replaceText(node: Node, isLinked: boolean): void {
  if (node.children === undefined) return;
  node.children = node.children.flatMap((child) => {
    const { type, value = '' } = child;
    if (type === 'html' && CONTAINERS.has(node.type))
      return [{ type: 'paragraph', children: splitText(value, isLinked) }];
    if (type === 'html' || type === 'text') return splitText(value, isLinked);
    replaceText(child, isLinked || LINKS.has(type));
    return [child];
  });
}

function splitText(text: string, isLinked: boolean): Node[] {
  return text.split(BREAK_OR_URL).map((value, index) => {
    if (value === '\n') return { type: 'break' };
    const isUrl = index % 2 === 1 && !isLinked;
    return isUrl
      ? { type: 'link', url: value, children: [{ type: 'text', value }] }
      : { type: 'text', value };
  });
}
