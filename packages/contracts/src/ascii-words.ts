/**
 * The words of a text in small ASCII letters and digits, such as `shop-front` of "Shop: Frönt"; empty where it has none.
 * @param most characters
 */
export function asciiWords(text: string, between: '-' | '_', most: number): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, between)
    .slice(0, most)
    .replaceAll(/^[-_]|[-_]$/g, '');
}
