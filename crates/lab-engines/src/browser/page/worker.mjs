// A host in a worker.

import { Host } from './host.mjs';

const host = new Host();
onmessage = async (event) => postMessage(await host.do(event.data));
