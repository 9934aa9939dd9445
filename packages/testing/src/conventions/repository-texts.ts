/**
 * The texts of the repository that people read, for rules on words and links. Landed migrations and lock files are left
 * out.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../../../..')

/** A pattern with a wildcard does not match names that begin with a dot. */
const patterns = [
  '*',
  '.dockerignore',
  '.env.example',
  '.github/**/*',
  '.ci/*',
  '{apps,packages}/*/**/*.{ts,js,mjs,html,css,sql}',
  '{packages,examples}/**/*.md',
  'examples/*/**/*.{ts,tsx,css,html,csv}',
  '{docs,ops}/**/*',
]
const notText = /\.(png|svg)$|^pnpm-lock\.yaml$/

/** Paths from the root, with their texts. */
export const repositoryTexts: readonly { path: string; text: string }[] = globSync(patterns, {
  cwd: root,
  withFileTypes: true,
  exclude: (entry) => entry.name === 'node_modules',
})
  .filter((entry) => entry.isFile() && !notText.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))
  .toSorted()
  .map((path) => ({ path: path.slice(root.length + 1), text: readFileSync(path, 'utf8') }))

export const markdownFiles = repositoryTexts.filter(({ path }) => path.endsWith('.md'))

/** The text of a file, by its path from the root. */
export const readRepositoryText = (path: string): string => readFileSync(join(root, path), 'utf8')
