/** The files that the Dockerfile copies into the image, by the rules of `.dockerignore`. */
import { globSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { readRepositoryText, root } from '../conventions/repository-texts.ts'

interface Rules {
  add(rules: string): Rules
  ignores(path: string): boolean
}

// Its type declarations describe an ES module, which it is not.
const dockerignore = createRequire(import.meta.url)('@balena/dockerignore') as () => Rules

const rules = dockerignore().add(readRepositoryText('.dockerignore'))

export const isInImage = (path: string): boolean => !rules.ignores(path)

/** Paths from the root. */
export function listImageFiles(): string[] {
  return globSync('**', { cwd: root, withFileTypes: true, exclude: ({ name }) => name === 'node_modules' })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter(isInImage)
}
