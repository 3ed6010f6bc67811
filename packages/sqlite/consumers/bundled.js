// The entry point for bundlers.

import { answerWith } from './page.js';
import { scenario } from './scenario.js';

answerWith(scenario);
