/** The TypeScript sources of the repository, for rules that are checked on the text of the code. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../../../..')

export interface SourceFile {
  /** Relative to the root of the repository. */
  path: string
  /** Without comments. */
  code: string
  /** The package of the file, such as `apps/api`. */
  home: string
  isTest: boolean
}

export const core = 'packages/core/src/'

export const sourceFiles: readonly SourceFile[] = globSync('{apps,packages,examples}/*/**/*.{ts,tsx}', {
  cwd: root,
  exclude: ['**/node_modules/**'],
})
  .toSorted()
  .map((path) => ({
    path,
    code: withoutComments(readFileSync(join(root, path), 'utf8')),
    home: path.split('/').slice(0, 2).join('/'),
    isTest: path.endsWith('.test.ts'),
  }))

/** Whether a file only serves tests. */
export const isTestHelper = (path: string): boolean =>
  /^packages\/testing\/|^apps\/e2e\/|^[^.]*\/test\/|\/testing[.-]/.test(path)

export const coreSources = sourceFiles.filter(({ path, isTest }) => path.startsWith(core) && !isTest)

/** The modules that a file imports, except the root's `package.json`, from which every package may read the version. */
export function importsOf({ code }: Pick<SourceFile, 'code'>): string[] {
  return [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g)]
    .map(([, name = '']) => name)
    .filter((name) => !name.endsWith('../package.json'))
}

/** Removes the imports that do not exist at run time. */
export const withoutTypeImports = (code: string): string =>
  code.replaceAll(/import (type [^']*|\{(\s*type [^,}]+,?)+\s*\} from )'[^']*'/g, '')

/** Returns the path of an imported file of this repository, undefined for a library. */
export function resolveImport(importer: string, name: string): string | undefined {
  if (name.startsWith('.')) return join(dirname(importer), name)
  const [, workspacePackage, file] = /^@rapport\/([\w-]+)\/(.*)/.exec(name) ?? []
  return workspacePackage && `packages/${workspacePackage}/src/${file}`
}

export function findImports(
  files: readonly SourceFile[],
  isWrong: (file: SourceFile, name: string) => boolean,
): string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .filter((name) => isWrong(file, name))
      .map((name) => `${file.path}: ${name}`),
  )
}

/** Returns the matching lines, each with the path of its file. */
export function findCode(files: readonly SourceFile[], pattern: RegExp): string[] {
  const lines = ({ path, code }: SourceFile) => code.split('\n').map((line) => `${path}: ${line.trim()}`)
  return files.flatMap((file) => lines(file).filter((line) => pattern.test(line)))
}

/** Removes a line comment only after whitespace, as "//" is also part of URLs in strings. */
function withoutComments(code: string): string {
  return code.replace(/\/\*[^]*?\*\//g, '').replace(/(^|\s)\/\/ .*$/gm, '$1')
}
