import * as fc from 'fast-check';
import { PROPERTY_PARAMETERS } from './property-parameters.ts';

fc.configureGlobal(PROPERTY_PARAMETERS);

/** fast-check, configured for this project. */
export { fc };
