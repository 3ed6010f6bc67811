// What a bundler begins with.

import { answerWith } from './page.js';
import { scenario } from './scenario.js';

answerWith(scenario);
