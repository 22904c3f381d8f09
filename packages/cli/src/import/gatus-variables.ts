import { urlStandIn } from '../files/interpolate.ts';

/** Gatus uses `$NAME`, `${NAME}` and `$$` for a `$`. A `tocsin.yaml` uses `${NAME}` and `$${` for a `${`. */
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

/** Replaces variables in a URL with stand-ins for validation. */
export function withStandIns(url: string): string {
  return url.replaceAll(/\$\$\{|\$\{\w+\}/g, (found: string, offset: number) =>
    found === '$${' ? found : urlStandIn(url, found, offset),
  );
}
