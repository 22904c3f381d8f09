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
  const probe = document.createElement('span');
  element.append(probe);
  const read = (property: string): string => {
    probe.style.color = `var(${property})`;
    return getComputedStyle(probe).color;
  };
  const colors = {
    phases: PHASES.map(({ color }) => read(color)),
    failure: read('--status-down'),
    gap: read('--status-pending'),
    text: read('--text-quiet'),
    line: read('--line'),
  };
  probe.remove();
  return colors;
}
