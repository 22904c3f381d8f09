/** In pixels: of the plot, of the table in its place, and of what stands there while either loads. */
export const PLOT_HEIGHT = 260;
