// Only that the page may lie at any address, and where it goes.

export default { base: './', build: { outDir: '../built/vite', emptyOutDir: true } };
