import { PHASES } from '../phases.ts';

/** What a canvas is to be painted with: it knows no custom properties. */
export interface PlotColors {
  /** In the order of `PHASES`. */
  readonly phases: readonly string[];
  readonly failure: string;
  readonly gap: string;
  readonly text: string;
  readonly line: string;
}

/** The colours of the custom properties as they are now within `element`, in its light or dark. */
export function readPlotColors(element: HTMLElement): PlotColors {
  const read = (property: string): string => readColor(element, property);
  return {
    phases: PHASES.map(({ color }) => read(color)),
    failure: read('--status-down'),
    gap: read('--status-pending'),
    text: read('--text-quiet'),
    line: read('--line'),
  };
}

/** With a new element for each: one that changes its colour may be on its way from the last one still. */
function readColor(element: HTMLElement, property: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${property})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
