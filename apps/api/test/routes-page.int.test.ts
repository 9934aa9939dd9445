import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { renderRoutesPage } from '../src/docs/routes-page.ts'
import { startTestApi } from './testing.ts'

const root = resolve(import.meta.dirname, '../../..')
const api = useForFile(() => startTestApi())

/** The sources of the routes by their tag, relative to `docs`. */
function findSources(): Record<string, string[]> {
  const sources: Record<string, string[]> = {}
  for (const path of globSync('apps/api/src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).toSorted()) {
    const code = readFileSync(join(root, path), 'utf8')
    if (!/\bapp\.(get|post|put|patch|delete)\(/.test(code)) continue
    const tags = [...code.matchAll(/\btags(?::| =) \['([^']+)'\]/g)].map(([, tag = '']) => tag)
    for (const tag of new Set(tags)) (sources[tag] ??= []).push(`../${path}`)
  }
  return sources
}

test('docs/routes.md has every operation as it is registered (`pnpm routes:generate`)', async () => {
  const page = renderRoutesPage(api.app.documentedRoutes, findSources())
  expect(page).toMatch(/\| `POST \/contacts` \| `contacts.create` \| MEMBER \| 100 \| idempotent \|/)
  await expect(page).toMatchFileSnapshot(join(root, 'docs/routes.md'))
})
