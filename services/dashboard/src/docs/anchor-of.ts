/** The name of a part of the page in its address. */
export function anchorOf(group: string): string {
  return group.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
