import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'postgresql',
  casing: 'snake_case',
  schema: './packages/core/src/schema.ts',
  out: './drizzle',
})
