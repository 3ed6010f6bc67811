// Another tab, whose package the page of tests calls.

import * as strongroom from '../src/index.js';

Object.assign(globalThis, { strongroom });
