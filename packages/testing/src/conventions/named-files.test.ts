/** The pages for contributors name files of the repository in backticks, where no check of links sees them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readRepositoryText, repositoryTexts, root } from './repository-texts.ts'

test('every file that the recipe for a resource names exists', () => {
  const text = readRepositoryText('docs/add-a-resource.md').replaceAll(/^```[^]*?^```$/gm, '')
  const named = [...text.matchAll(/`([\w./-]+\.(?:ts|md|txt))`/g)].flatMap(([, path]) => path ?? [])
  expect(named.length).toBeGreaterThan(20)
  const exists = (path: string) =>
    existsSync(join(root, path)) || repositoryTexts.some((file) => file.path.endsWith(`/${path}`))
  expect(named.filter((path) => !path.includes('gifts') && !exists(path))).toEqual([])
})
