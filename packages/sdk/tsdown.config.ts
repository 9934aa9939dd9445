import { defineConfig } from 'tsdown'

export default defineConfig({
  entry: 'src/index.ts',
  format: 'esm',
  // Runs wherever `fetch` does: Node, Bun, Deno, Workers and browsers.
  platform: 'neutral',
  target: 'es2022',
  dts: true,
  minify: true,
  sourcemap: true,
})
