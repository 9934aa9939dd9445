/** The files that the Dockerfile copies into the image, by the rules of `.dockerignore`. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import dockerignore from '@balena/dockerignore'
import { readRepositoryText, root } from '../conventions/repository-texts.ts'

interface Rules {
  add(rules: string): Rules
  ignores(path: string): boolean
}

// The type declarations describe an ES module, which the package is not.
const createRules = dockerignore as unknown as () => Rules
const rules = createRules().add(readRepositoryText('.dockerignore'))

export const isInImage = (path: string): boolean => !rules.ignores(path)

/** Paths from the root. */
export function listImageFiles(): string[] {
  return globSync('**', { cwd: root, withFileTypes: true, exclude: ({ name }) => name === 'node_modules' })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter(isInImage)
}
