import { defineConfig } from 'tsdown'

export default defineConfig({
  entry: 'src/index.ts',
  format: 'esm',
  // Runs wherever `fetch` does: Node, Bun, Deno, Workers and browsers.
  platform: 'neutral',
  target: 'es2022',
  dts: true,
  // Not minified: an uncaught error prints the line that threw it. Editors read the comments from the declarations.
  outputOptions: { comments: { jsdoc: false } },
})
