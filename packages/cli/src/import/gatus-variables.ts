import { urlStandIn } from '../files/interpolate.ts';

/** Gatus has `$NAME`, `${NAME}` and `$$` for a `$`; a `tocsin.yaml` has `${NAME}` and `$${` for a `${`. */
export function toTocsinVariables(text: string): string {
  return text.replaceAll(
    /\$\$(\{)?|\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\$\{/g,
    (found: string, brace: string | undefined, braced: string | undefined, bare: string | undefined) => {
      if (found.startsWith('$$')) return brace === undefined ? '$' : '$${';
      const name = braced ?? bare;
      return name === undefined ? '$${' : `\${${name}}`;
    },
  );
}

/** A URL with stand-ins for its variables, for validation. */
export function withStandIns(url: string): string {
  return url.replaceAll(/\$\$\{|\$\{\w+\}/g, (found: string, offset: number) =>
    found === '$${' ? found : urlStandIn(url, found, offset),
  );
}
