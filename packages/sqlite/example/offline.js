// A service worker: the page opens without a network, from the cache.

const CACHE = 'notes-1';
const MODULES = [
  'abi', 'client', 'connection', 'database', 'engine', 'errors', 'files', 'index', 'keys', 'names',
  'protocol', 'store', 'tabs', 'transport', 'turns', 'worker',
];
const PAGE = [
  './', 'icon.svg', 'notes.js', 'sqlite/strongroom.wasm', ...MODULES.map((name) => `sqlite/${name}.js`),
];

addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(PAGE)).then(() => skipWaiting()));
});

addEventListener('activate', (event) => event.waitUntil(clients.claim()));

addEventListener('fetch', (event) => {
  if (event.request.method === 'GET') event.respondWith(fetched(event.request));
});

/** From the network where there is one: what has changed is seen at once. */
async function fetched(request) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(request);
    if (kept) return kept;
    throw error;
  }
}
