import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'postgresql',
  casing: 'snake_case',
  schema: './packages/core/src/db/schema/index.ts',
  out: './drizzle',
})
