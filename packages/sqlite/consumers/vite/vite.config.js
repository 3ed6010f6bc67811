// Only sets that the page may be served from any path, and the output folder.

export default { base: './', build: { outDir: '../built/vite', emptyOutDir: true } };
