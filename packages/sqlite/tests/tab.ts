// Another tab, whose copy of the package the tests' page calls.

import * as strongroom from '../src/index.js';

Object.assign(globalThis, { strongroom });
